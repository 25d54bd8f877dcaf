"""One budget over many nodes: each node's meter spends from a lease, and all leases together fit the budget.

A node asks for more when a call does not fit its lease. What has been granted counts as spent until the node
says otherwise, so a node that is lost takes no more than its lease with it. Whole numbers throughout: of
pico-dollars or of tokens, whichever the budget is in.
"""

from dataclasses import dataclass
from enum import Enum

SHARE = 4
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
    wants: int = 0
    """What it waits for."""
    alive: bool = True


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

    def join(self, node: str) -> None:
        """A node has come. Each start of a node has a name of its own.

        Raises:
            ValueError: The name has been used.
        """
        if node in self._leases:
            raise ValueError(f"node {node} has joined already")
        self._leases[node] = _Lease()

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
            lease.granted += max(wants, min(self.free, self._portion()))
            lease.wants = 0
            return Answer.GRANTED, lease.granted
        if wants > self._cap - self.spent - (lease.granted - lease.spent):
            # What this node holds in reserve stays its own: only what others hold could come back.
            lease.wants = 0
            return Answer.REFUSED, lease.granted
        lease.wants = wants
        return Answer.WAIT, lease.granted

    def report(self, node: str, spent: int) -> None:
        """A node says what it has spent of its lease so far."""
        lease = self._leases[node]
        # More than the lease is possible when a provider charges beyond the worst case.
        lease.spent = max(lease.spent, spent)
        lease.granted = max(lease.granted, lease.spent)

    def give_back(self, node: str, granted: int) -> None:
        """A node keeps only `granted` of its lease, as its own meter has confirmed.

        Raises:
            ValueError: It would keep less than it has spent, or more than it had.
        """
        lease = self._living(node)
        if not lease.spent <= granted <= lease.granted:
            raise ValueError(f"node {node} keeps {granted} of a lease of {lease.granted}")
        lease.granted = granted

    def lost(self, node: str) -> int:
        """A node is gone: what it held counts as spent, for it may have spent it. Returns its whole lease."""
        lease = self._living(node)
        lease.alive = False
        lease.wants = 0
        return lease.granted

    def found(self, node: str, spent: int) -> None:
        """A lost node's spend has become known after all; the rest of its lease is free again."""
        lease = self._leases[node]
        if lease.alive:
            raise ValueError(f"node {node} is not lost")
        lease.granted = lease.spent = max(lease.spent, spent)

    def asked_back(self) -> list[str]:
        """The nodes that hold more than they have spent, while others wait."""
        if not any(lease.wants for lease in self._leases.values()):
            return []
        return [
            name
            for name, lease in self._leases.items()
            if lease.alive and not lease.wants and lease.granted > lease.spent
        ]

    def waiting(self) -> dict[str, int]:
        """The nodes that wait, and for how much."""
        return {name: lease.wants for name, lease in self._leases.items() if lease.wants}

    @property
    def free(self) -> int:
        """What nobody holds; negative when providers charged more than the worst case."""
        return self._cap - self._before - sum(lease.granted for lease in self._leases.values())

    @property
    def spent(self) -> int:
        """What is known to be spent, and all that lost nodes held."""
        leases = self._leases.values()
        return self._before + sum(lease.spent if lease.alive else lease.granted for lease in leases)

    def lease(self, node: str) -> int:
        """What a node has been granted in all."""
        return self._leases[node].granted

    def _portion(self) -> int:
        alive = sum(lease.alive for lease in self._leases.values())
        return self.free // (SHARE * alive)

    def _living(self, node: str) -> _Lease:
        lease = self._leases[node]
        if not lease.alive:
            raise KeyError(node)
        return lease
