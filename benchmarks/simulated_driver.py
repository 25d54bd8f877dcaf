"""The driver of a simulated cluster: what the executor of a Ray cluster does with the same news."""

from collections import deque
from time import process_time
from typing import Any

from simulated_clock import Clock, Process, Steps

from tiltyard_cluster.scheduling import Scheduler
from tiltyard_cluster.steps import End, GivenUp, Start, Task

ENDS = {
    "settled": End.SETTLED,
    "known": End.SETTLED,
    "beaten": End.SETTLED,
    "failed": End.FAILED,
    "cancelled": End.CANCELLED,
}


class Driver:
    """Hears one piece of news after the other, each at a cost of time.

    Args:
        cluster: What carries out the starts; see `Cluster`.
        cost: Seconds for each piece of news.
        retries: Of a run that fails for no fault of the agent's.
    """

    def __init__(self, cluster: Any, cost: float, retries: int) -> None:
        self.scheduler = Scheduler(retries=retries)
        self.told: dict[str, int] = {}
        """How often each run was told of as settled."""
        self.news = 0
        self.lost = 0
        """Attempts taken for lost."""
        self.given_up = 0
        self.cpu = 0.0
        """Seconds of processor time spent with the schedule."""
        self.stopped = False
        """For want of money."""
        self._cluster = cluster
        self._clock: Clock = cluster.clock
        self._cost = cost
        self._workers: dict[str, Any] = {}
        self._under_way: set[int] = set()
        self._inbox: deque[tuple[Any, ...]] = deque()
        self._at_work = False
        self._timer: tuple[float, Process] | None = None

    def submit(self, runs: int, arms: int, seconds: float) -> None:
        """Queue all runs, in blocks."""
        for first in range(0, runs, arms):
            keys = range(first, min(first + arms, runs))
            self.scheduler.submit([Task(str(key), 1, seconds) for key in keys])

    def hear(self, news: tuple[Any, ...]) -> None:
        """Something has happened."""
        self._inbox.append(news)
        if not self._at_work:
            self._at_work = True
            self._clock.spawn(self._work())

    def _work(self) -> Steps:
        while self._inbox:
            yield self._cost
            self.news += 1
            began = process_time()
            self._handle(*self._inbox.popleft())
            self._go_on()
            self.cpu += process_time() - began
        self._at_work = False
        if self.scheduler.idle:
            self._clock.over = True

    def _handle(self, kind: str, *what: Any) -> None:
        if kind == "up":
            self._up(*what)
        elif kind == "gone":
            self._gone(*what)
        elif kind == "ended":
            self._ended(*what)

    def _up(self, worker: Any) -> None:
        if not worker.dismissed:
            self._workers[worker.name] = worker
            self.scheduler.node_up(worker.name, self._cluster.scenario.slots)

    def _gone(self, worker: Any) -> None:
        if worker.dismissed:
            return
        worker.dismissed = True
        self._cluster.money.lost(worker.meter)
        if self._workers.pop(worker.name, None) is not None:
            for start in self.scheduler.node_down(worker.name, self._clock.now):
                self.lost += 1
                self._under_way.remove(start.number)
                self._settle_if_known(start.key)

    def _ended(self, start: Start, ending: str) -> None:
        if start.number not in self._under_way:
            self._settle_if_known(start.key)
            return
        self._under_way.remove(start.number)
        if ending == "cancelled":
            self.stopped = True
            self.scheduler.stop()
        further = self.scheduler.ended(start.number, ENDS[ending], self._clock.now)
        if further is not None:
            self._start(further)
        if ENDS[ending] is End.SETTLED:
            self._settle(start.key, late=False)

    def _go_on(self) -> None:
        now = self._clock.now
        for step in self.scheduler.next(now):
            if isinstance(step, GivenUp):
                self.given_up += 1
                self._cluster.put_if_absent(step.key, step.attempt)
                self._settle(step.key, late=False)
            else:
                self._start(step)
        for start in self.scheduler.overdue(now):
            if start.number in self._under_way:
                worker = self._workers[start.node]
                self._gone(worker)
                self._cluster.dismiss(worker)
        self._set_timer(now)

    def _start(self, start: Start) -> None:
        self._under_way.add(start.number)
        self._cluster.begin(self._workers[start.node], start)

    def _settle_if_known(self, key: str) -> None:
        if key in self._cluster.store:
            self._settle(key, late=True)

    def _settle(self, key: str, *, late: bool) -> None:
        if key not in self.told:
            if late:
                self.scheduler.late(key)
            self.told[key] = self.told.get(key, 0) + 1

    def _set_timer(self, now: float) -> None:
        wakes = self.scheduler.wakes_at(now)
        if wakes is None or (self._timer is not None and now < self._timer[0] <= wakes):
            return
        if self._timer is not None:
            self._clock.kill(self._timer[1])
        self._timer = (wakes, self._clock.spawn(self._ring(), max(0.0, wakes - now)))

    def _ring(self) -> Steps:
        self.hear(("time",))
        return
        yield
