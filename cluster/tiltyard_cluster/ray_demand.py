"""What an autoscaler is asked for: room for the runs that are open, and no more.

Nothing of ours asks Ray for processors, so an autoscaler sees no demand but this. Ray keeps one request for
a whole cluster, until another one takes its place.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Bundles = Sequence[Mapping[str, float]]
MOST = 10_000
"""Slots that are asked for at once."""
_FINEST = 10_000
"""Ray counts resources in parts of this."""


@dataclass(slots=True)
class Demand:
    """Asks again when there is a change.

    Attributes:
        ask: Puts a request in the place of the last one.
        cpus: Of a node for one slot, until a node has shown how many slots it has: that depends on its memory
            and on `parallel` too.
    """

    ask: Callable[[Bundles], None]
    cpus: float
    _asked: tuple[int, float] | None = None

    def learn(self, cpus: float, slots: int) -> None:
        """A node of so many processors, as Ray counts them, has so many slots."""
        if cpus > 0:
            self.cpus = max(self.cpus, math.floor(cpus / slots * _FINEST) / _FINEST)

    def want(self, slots: int) -> None:
        """So many runs could go on at once."""
        wanted = (min(slots, MOST), self.cpus)
        if wanted != (self._asked or (0, self.cpus)):
            self.ask([{"CPU": self.cpus}] * wanted[0])
            self._asked = wanted

    def withdraw(self) -> None:
        """Ask for nothing any more."""
        if self._asked is not None:
            self.ask([])
            self._asked = None
