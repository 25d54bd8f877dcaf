"""The ledger of a trial on a cluster: one budget, and one opinion of which providers are overloaded.

An actor on the driver's node. Nodes report to it every moment and hear what they may spend; what a node has
been granted counts as spent until it is known how much of it was.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tiltyard_cluster.leases import Answer, Leases

SHORTEST = 0.25
"""Seconds between two reports of a node."""
_NODES_PER_SECOND = 500


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What a node says, in the unit of the budget."""

    node: str
    spent: int = 0
    wants: int = 0
    """By how much its lease is too small for the call that waits first."""
    keeps: int | None = None
    """What it keeps of its lease, after it was asked to give back."""
    held: Mapping[str, float] = field(default_factory=dict)
    """Addresses of providers that it holds requests back from, and for how many seconds yet."""
    running: Mapping[str, str] | None = None
    """What each attempt under way has used so far, as the JSON of a `Spend`, by run id and attempt."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a node hears."""

    granted: int
    """Its lease."""
    refused: int = 0
    """What it wants and will never be granted."""
    give_back: bool = False
    lost: bool = False
    """Whether it is taken for lost: it gets nothing more."""
    hold: Mapping[str, float] = field(default_factory=dict)
    """Providers that other nodes hold requests back from, and for how many seconds yet."""
    pause: float = SHORTEST
    """Seconds until it is to report again."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What a lost node leaves in the books."""

    unaccounted: int
    """What it was granted beyond what it has reported as spent: it may have spent it."""
    running: Mapping[str, str]
    """The last that it said of its attempts under way."""


class Ledger:
    """See the module.

    Args:
        cap: The whole budget in its own unit; None for a trial without one.
        spent: What was spent before.
        clock: Seconds, for how long providers are held.
    """

    def __init__(self, cap: int | None, spent: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._leases = None if cap is None else Leases(cap, spent)
        self._clock = clock
        self._running: dict[str, Mapping[str, str]] = {}
        self._lost: set[str] = set()
        self._held: dict[str, float] = {}

    def join(self, node: str) -> None:
        """A node is about to come."""
        self._running[node] = {}
        if self._leases is not None:
            self._leases.join(node)

    def sync(self, report: NodeReport) -> Share:
        """Hear a node, and answer."""
        if report.running is not None:
            self._running[report.node] = report.running
        hold = self._holds(report.held)
        pause = max(SHORTEST, len(self._running) / _NODES_PER_SECOND)
        if report.node in self._lost:
            return Share(0, lost=True, hold=hold, pause=pause)
        if self._leases is None:
            return Share(0, hold=hold, pause=pause)
        return self._share(self._leases, report, hold, pause)

    def lost(self, node: str) -> Loss:
        """A node is gone: all that it holds counts as spent."""
        self._lost.add(node)
        running = self._running.pop(node, {})
        if self._leases is None:
            return Loss(0, running)
        before = self._leases.spent
        self._leases.lost(node)
        return Loss(self._leases.spent - before, running)

    def spent_before(self, units: int) -> None:
        """Something was spent that nobody has reported: an attempt of an earlier start has come to light."""
        if self._leases is not None:
            name = f"earlier {len(self._lost)}"
            self._leases.join(name)
            self._leases.report(name, units)
            self._leases.lost(name)
            self._lost.add(name)

    @staticmethod
    def _share(leases: Leases, report: NodeReport, hold: Mapping[str, float], pause: float) -> Share:
        node, refused = report.node, 0
        leases.report(node, report.spent)
        if report.keeps is not None:
            leases.give_back(node, max(report.keeps, report.spent))
        if report.wants:
            answer, _ = leases.ask(node, report.spent, report.wants)
            refused = report.wants if answer is Answer.REFUSED else 0
        else:
            leases.content(node)
        return Share(leases.lease(node), refused, node in leases.asked_back(), hold=hold, pause=pause)

    def _holds(self, held: Mapping[str, float]) -> dict[str, float]:
        """Put together what all nodes hold; what one node was told ends by itself."""
        now = self._clock()
        for provider, seconds in held.items():
            self._held[provider] = max(self._held.get(provider, 0.0), now + seconds)
        self._held = {provider: end for provider, end in self._held.items() if end > now}
        return {
            provider: end - now
            for provider, end in self._held.items()
            if end - now > held.get(provider, 0.0) + SHORTEST
        }
