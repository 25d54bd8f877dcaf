"""One budget over many nodes: each node's meter spends from a lease, and all leases together fit the budget.

A node asks for more when a call does not fit its lease. What has been granted counts as spent until the node
says otherwise, so a node that is lost takes no more than its lease with it. Whole numbers throughout: of
pico-dollars or of tokens, whichever the budget is in.
"""

from dataclasses import dataclass
from enum import Enum

SHARE = 16
"""A grant is at most this part of what is left, divided among the nodes, unless one call needs more."""


class Answer(Enum):
    """What becomes of a request for more."""

    GRANTED = "granted"
    WAIT = "wait"
    """Other nodes hold what is missing and may give some of it back."""
    REFUSED = "refused"
    """Not even with everything that others hold would it fit."""


@dataclass(slots=True)
class _Lease:
    granted: int = 0
    """In all, from the first."""
    spent: int = 0
    """Of it, as the node last said."""
    alive: bool = True

    @property
    def counts(self) -> int:
        """What of it counts as spent."""
        return self.spent if self.alive else self.granted


class Leases:
    """The ledger of a budget. Not thread-safe.

    Args:
        cap: The whole budget.
        spent: What was spent before any node came.
    """

    def __init__(self, cap: int, spent: int = 0) -> None:
        self._cap = cap
        self._before = spent
        self._leases: dict[str, _Lease] = {}
        self._queue: dict[str, int] = {}
        """What each node waits for, in the order of asking."""
        # Sums over all leases: a ledger of a thousand nodes is asked hundreds of times a second.
        self._granted = self._counts = self._alive = 0

    def join(self, node: str) -> None:
        """A node has come. Each start of a node has a name of its own.

        Raises:
            ValueError: The name has been used.
        """
        if node in self._leases:
            raise ValueError(f"node {node} has joined already")
        self._leases[node] = _Lease()
        self._alive += 1

    def ask(self, node: str, spent: int, wants: int) -> tuple[Answer, int]:
        """A node needs room for `wants` beyond what it has spent and holds in reserve.

        Args:
            node: Who asks.
            spent: What it has spent of its lease so far.
            wants: By how much its lease is too small.

        Returns:
            The answer, and the lease that the node has now.

        Raises:
            KeyError: The node has not joined, or is lost.
        """
        lease = self._living(node)
        self.report(node, spent)
        if wants <= self.free:
            more = max(wants, min(self.free, self._portion()))
            self._set(lease, lease.granted + more, lease.spent)
            self._queue.pop(node, None)
            return Answer.GRANTED, lease.granted
        if wants > self._cap - self.spent - (lease.granted - lease.spent):
            # What this node holds in reserve stays its own: only what others hold could come back.
            self._queue.pop(node, None)
            return Answer.REFUSED, lease.granted
        self._queue[node] = wants
        return Answer.WAIT, lease.granted

    def content(self, node: str) -> None:
        """A node waits for nothing any more: its call has ended, or fits after all."""
        self._queue.pop(node, None)

    def report(self, node: str, spent: int) -> None:
        """A node says what it has spent of its lease so far."""
        lease = self._leases[node]
        # More than the lease is possible when a provider charges beyond the worst case.
        spent = max(lease.spent, spent)
        self._set(lease, max(lease.granted, spent), spent)

    def give_back(self, node: str, granted: int) -> None:
        """A node keeps only `granted` of its lease, as its own meter has confirmed.

        Raises:
            ValueError: It would keep less than it has spent, or more than it had.
        """
        lease = self._living(node)
        if not lease.spent <= granted <= lease.granted:
            raise ValueError(f"node {node} keeps {granted} of a lease of {lease.granted}")
        self._set(lease, granted, lease.spent)

    def lost(self, node: str) -> int:
        """A node is gone: what it held counts as spent, for it may have spent it. Returns its whole lease."""
        lease = self._living(node)
        self._counts += lease.granted - lease.spent
        lease.alive = False
        self._alive -= 1
        self._queue.pop(node, None)
        return lease.granted

    def asked_back(self) -> list[str]:
        """The nodes that are to give back what they do not use, while others wait.

        Those that wait themselves are among them, but for the first: else each could hold a part of what all
        of them wait for.
        """
        if not self._queue:
            return []
        first = next(iter(self._queue))
        return [
            name
            for name, lease in self._leases.items()
            if lease.alive and name != first and lease.granted > lease.spent
        ]

    def waiting(self) -> dict[str, int]:
        """The nodes that wait, the longest first, and for how much."""
        return dict(self._queue)

    @property
    def free(self) -> int:
        """What nobody holds; negative when providers charged more than the worst case."""
        return self._cap - self._before - self._granted

    @property
    def spent(self) -> int:
        """What is known to be spent, and all that lost nodes held."""
        return self._before + self._counts

    def lease(self, node: str) -> int:
        """What a node has been granted in all."""
        return self._leases[node].granted

    def _portion(self) -> int:
        return self.free // (SHARE * self._alive)

    def _set(self, lease: _Lease, granted: int, spent: int) -> None:
        self._granted -= lease.granted
        self._counts -= lease.counts
        lease.granted, lease.spent = granted, spent
        self._granted += lease.granted
        self._counts += lease.counts

    def _living(self, node: str) -> _Lease:
        lease = self._leases[node]
        if not lease.alive:
            raise KeyError(node)
        return lease
