"""The money of a simulated cluster: each node's meter spends from a lease of the real ledger.

The provider adds up what it is owed by itself, so that no error of the ledger's can hide.
"""

from collections import deque
from dataclasses import dataclass, field

from simulated_clock import Clock, Process, Steps

from tiltyard_cluster.leases import Answer, Leases

SYNC = 0.25
"""Seconds between two words to the ledger while a call waits for room."""
REPORT = 10.0
"""Seconds between two words to the ledger while none does."""


@dataclass(slots=True)
class Provider:
    """Charges for calls, and now and then asks everybody to wait."""

    cap: int
    owed: int = 0
    in_flight: int = 0
    """The worst case of all calls under way."""
    highest: int = 0
    """What was owed or in flight at most."""
    held_until: float = 0.0

    def begin(self, worst: int) -> None:
        """A call begins."""
        self.in_flight += worst
        self.highest = max(self.highest, self.owed + self.in_flight)
        if self.highest > self.cap:
            raise AssertionError(f"up to {self.highest} may be owed, of a budget of {self.cap}")

    def end(self, worst: int, charge: int) -> None:
        """A call is over."""
        self.in_flight -= worst
        self.owed += charge


@dataclass(slots=True, eq=False)
class Meter:
    """Of one start of a node."""

    name: str
    lease: int = 0
    spent: int = 0
    reserved: int = 0
    calls: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Calls under way: worst case and charge, by attempt."""
    waiting: deque[Process] = field(default_factory=deque)
    worst: int = 0
    """The call that waits first."""
    refused: bool = False
    asking: bool = False
    reachable: bool = True
    alive: bool = True
    """For the ledger."""

    @property
    def room(self) -> int:
        """What a new call may cost at most."""
        return self.lease - self.spent - self.reserved


class Money:
    """The real `Leases` with its meters.

    Args:
        clock: Simulated time.
        cap: The budget.
    """

    def __init__(self, clock: Clock, cap: int) -> None:
        self.provider = Provider(cap)
        self.leases = Leases(cap)
        self.waited = 0.0
        """Seconds that calls have waited for room, in all."""
        self._clock = clock

    def open(self, name: str) -> Meter:
        """A node has come."""
        self.leases.join(name)
        return Meter(name)

    def lost(self, meter: Meter) -> None:
        """A node is taken for lost; its meter may go on all the same."""
        if meter.alive:
            meter.alive = False
            self.leases.lost(meter.name)

    def report(self, meter: Meter) -> Steps:
        """What a node tells the ledger and hears from it."""
        while meter.alive:
            if meter.reachable:
                self.leases.report(meter.name, meter.spent)
                if meter.name in self.leases.asked_back():
                    meter.lease = meter.spent + meter.reserved
                    self.leases.give_back(meter.name, meter.lease)
            yield REPORT

    def begin(self, meter: Meter, attempt: int, worst: int, charge: int) -> Steps:
        """Wait for room, then call. `refused` of the meter says that there will be none."""
        began = self._clock.now
        while meter.room < worst and not meter.refused:
            meter.worst = worst
            meter.waiting.append(self._clock.current)
            if not meter.asking:
                meter.asking = True
                self._clock.spawn(self._ask_again(meter), SYNC)
            yield None
        self.waited += self._clock.now - began
        if not meter.refused:
            meter.reserved += worst
            meter.calls[attempt] = (worst, charge)
            self.provider.begin(worst)

    def end(self, meter: Meter, attempt: int, *, unknown: bool = False) -> None:
        """A call of an attempt is over, if one was under way; of an unknown one the worst case counts."""
        worst, charge = meter.calls.pop(attempt, (0, 0))
        meter.reserved -= worst
        meter.spent += worst if unknown else charge
        self.provider.end(worst, charge)

    def _ask_again(self, meter: Meter) -> Steps:
        while meter.alive and self._somebody_waits(meter):
            if meter.reachable:
                self._ask(meter)
            yield SYNC
        meter.asking = False

    def _ask(self, meter: Meter) -> None:
        wants = max(0, meter.worst - meter.room)
        answer, meter.lease = self.leases.ask(meter.name, meter.spent, wants)
        if answer is not Answer.WAIT:
            meter.refused = answer is Answer.REFUSED
            waiting, meter.waiting = meter.waiting, deque()
            for process in waiting:
                self._clock.wake(process)

    @staticmethod
    def _somebody_waits(meter: Meter) -> bool:
        meter.waiting = deque(each for each in meter.waiting if not each.ended)
        return bool(meter.waiting)
