"""A cluster simulated event by event, driven by the real scheduler and the real ledger of the budget.

Machines crash, fall silent and come back, run slowly, break for an hour; engines restart; attempts fail,
hang, or end after they were taken for lost; the provider asks for pauses. The driver does what the executor
of a Ray cluster does with the same news, at a cost of time for each.
"""

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from simulated_clock import Clock, Process, Steps
from simulated_driver import Driver
from simulated_money import Meter, Money

from tiltyard_cluster.steps import Start

TIMEOUT = 900.0
SLACK = 900.0
NET = 0.005
"""Seconds of a message."""
AGAIN = 30.0
"""Seconds until a node is used again that was let go."""
LISTEN = 20.0
"""Seconds after which a silent node is taken for lost."""
NEVER_BACK = 0.1
"""Share of machines that do not come back after a crash."""
INCIDENTS = (0.4, 0.25, 0.25, 0.1)
"""How often a crash, silence, a restart of the engine, and a machine that breaks."""

News = tuple[Any, ...]
"""What the driver hears: `("up", worker)`, `("gone", worker)` or `("ended", start, ending)`."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is simulated. Times in seconds, money in millionths of a dollar."""

    runs: int = 100_000
    arms: int = 2
    nodes: int = 100
    slots: int = 8
    seed: int = 1
    median: float = 240.0
    """Of a run's length, which is lognormal; the mean is a fifth more."""
    spread: float = 0.6
    calls: int = 3
    worst: int = 200_000
    """Of a call's cost."""
    cheapest: int = 5_000
    dearest: int = 60_000
    budget: float = 1.3
    """Over what all runs are expected to cost."""
    slow: float = 0.1
    """Share of machines that are slow."""
    speed: float = 0.6
    """Of a slow one."""
    trouble_every: float = 6 * 3600.0
    """Between two incidents of a machine, on average."""
    infra: float = 0.01
    """Share of attempts that fail for no fault of the agent's."""
    hangs: float = 0.0002
    """Share of attempts that never end."""
    pause_every: float = 1800.0
    """Between two pauses that the provider asks for, on average."""
    driver: float = 0.005
    """Driver time for each piece of news."""
    retries: int = 2

    @property
    def cap(self) -> int:
        """The budget."""
        return int(self.runs * self.calls * (self.cheapest + self.dearest) / 2 * self.budget)


@dataclass(slots=True, eq=False)
class Machine:
    """A machine, now and then a node of the cluster."""

    number: int
    speed: float
    starts: int = 0
    broken: bool = False
    worker: "Worker | None" = None
    changes: list[tuple[float, float]] = field(default_factory=list)
    """Since when it does how many seconds of work a second, in each slot."""

    def note(self, now: float) -> None:
        """What it can do has changed."""
        self.changes.append((now, 0.0 if self.worker is None or self.broken else self.speed))


@dataclass(slots=True, eq=False)
class Worker:
    """One start of a machine as a node of the cluster."""

    name: str
    machine: Machine
    meter: Meter
    attempts: dict[int, tuple[Start, Process]] = field(default_factory=dict)
    dismissed: bool = False
    """By the driver."""
    unsent: list[News] = field(default_factory=list)
    undelivered: list[Start] = field(default_factory=list)


@dataclass(slots=True)
class Tally:
    """Slot-seconds by what became of them, and how often things happened."""

    seconds: dict[str, float] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, seconds: float = 0.0) -> None:
        """It happened once more."""
        self.seconds[what] = self.seconds.get(what, 0.0) + seconds
        self.times[what] = self.times.get(what, 0) + 1


class Cluster:
    """Machines and the store; what they have to say goes to `driver`.

    Args:
        scenario: What is simulated.
        rng: Decides what happens when.
    """

    def __init__(self, scenario: Scenario, rng: np.random.Generator) -> None:
        self.scenario = scenario
        self.rng = rng
        self.clock = Clock()
        self.money = Money(self.clock, scenario.cap)
        self.tally = Tally()
        self.incidents: Counter[str] = Counter()
        self.store: dict[str, int] = {}
        """The attempt that settled each run."""
        lengths = rng.lognormal(np.log(scenario.median), scenario.spread, scenario.runs)
        self.lengths: list[float] = np.clip(lengths, 10.0, TIMEOUT).tolist()
        self.driver = Driver(self, scenario.driver, scenario.retries)
        self.driver.submit(scenario.runs, scenario.arms, TIMEOUT + SLACK)
        self.machines = [
            Machine(number, scenario.speed if number < scenario.slow * scenario.nodes else 1.0)
            for number in range(scenario.nodes)
        ]
        self._claims: set[tuple[str, int]] = set()

    def run(self) -> None:
        """From the first start to the last end."""
        for machine in self.machines:
            self.clock.spawn(self._life(machine))
        self.clock.spawn(self._pauses())
        self.clock.run()

    def begin(self, worker: Worker, start: Start) -> None:
        """Carry out what the driver says; a machine that is gone does not."""
        if worker.machine.worker is not worker:
            return
        if worker.meter.reachable:
            process = self.clock.spawn(self._attempt(worker, start), NET)
            worker.attempts[start.number] = (start, process)
        else:
            worker.undelivered.append(start)

    def put_if_absent(self, key: str, attempt: int) -> bool:
        """Settle a run in the store; False where another attempt has."""
        return self.store.setdefault(key, attempt) == attempt

    def _attempt(self, worker: Worker, start: Start) -> Steps:
        ending, what, began = "lost", "lost", self.clock.now
        try:
            if start.key in self.store:
                ending = what = "known"
            else:
                self._claim(start)
                ending = what = yield from self._work(worker, start)
                if ending == "failed" and start.last:
                    ending = "settled"
                if ending == "settled" and not self.put_if_absent(start.key, start.attempt):
                    ending = what = "beaten"
        finally:
            self.money.end(worker.meter, start.number, unknown=True)
            self.tally.add(what, self.clock.now - began)
        del worker.attempts[start.number]
        yield NET
        self._tell(worker, ("ended", start, ending))

    def _claim(self, start: Start) -> None:
        claim = (start.key, start.attempt)
        if claim in self._claims:
            raise AssertionError(f"attempt {start.attempt} of run {start.key} begins twice")
        self._claims.add(claim)

    def _work(self, worker: Worker, start: Start) -> Generator[float | None, None, str]:
        scenario, rng, money = self.scenario, self.rng, self.money
        if worker.machine.broken:
            yield 3.0
            return "failed"
        fate = rng.random()
        if fate < scenario.hangs:
            yield None
        fails = fate < scenario.hangs + scenario.infra
        seconds = self.lengths[int(start.key)] / worker.machine.speed / (2 * scenario.calls)
        fails_at = int(rng.integers(scenario.calls)) if fails else -1
        for number in range(scenario.calls):
            yield seconds
            if number == fails_at:
                return "failed"
            while (pause := money.provider.held_until - self.clock.now) > 0:
                self.incidents["paused call"] += 1
                yield pause + rng.random()
            charge = int(rng.integers(scenario.cheapest, scenario.dearest))
            yield from money.begin(worker.meter, start.number, scenario.worst, charge)
            if worker.meter.refused:
                return "cancelled"
            yield seconds
            money.end(worker.meter, start.number)
        return "settled"

    def _tell(self, worker: Worker, news: News) -> None:
        if worker.meter.reachable:
            self.driver.hear(news)
        else:
            worker.unsent.append(news)

    def _life(self, machine: Machine) -> Steps:
        rng = self.rng
        self._up(machine)
        incidents = (self._crash, self._silence, self._restart_engine, self._break)
        while True:
            yield float(rng.exponential(self.scenario.trouble_every))
            if machine.worker is not None:
                incident = incidents[int(rng.choice(len(incidents), p=INCIDENTS))]
                self.incidents[incident.__name__.strip("_")] += 1
                yield from incident(machine, machine.worker)

    def _crash(self, machine: Machine, worker: Worker) -> Steps:
        """It loses power; some never come back."""
        self._end(worker)
        yield float(self.rng.uniform(1.0, LISTEN))
        self.driver.hear(("gone", worker))
        if self.rng.random() < NEVER_BACK:
            yield None
        yield float(self.rng.uniform(120.0, 1200.0))
        self._up(machine, after=worker)

    def _silence(self, machine: Machine, worker: Worker) -> Steps:
        """Nobody hears of it; what it does goes on, and is published."""
        worker.meter.reachable = False
        lasts = float(self.rng.uniform(2.0, 300.0))
        yield min(lasts, LISTEN)
        if lasts > LISTEN:
            self.driver.hear(("gone", worker))
            yield lasts - LISTEN
        worker.meter.reachable = True
        for news in worker.unsent:
            self.driver.hear(news)
        if worker.dismissed:
            self._end(worker)
            yield AGAIN
            self._up(machine, after=worker)
        else:
            for start in worker.undelivered:
                self.begin(worker, start)

    def _restart_engine(self, machine: Machine, worker: Worker) -> Steps:
        """All attempts fail at once, and so does what begins in the next seconds."""
        for start, process in [*worker.attempts.values()]:
            self.clock.kill(process)
            del worker.attempts[start.number]
            settles = start.last and self.put_if_absent(start.key, start.attempt)
            self._tell(worker, ("ended", start, "settled" if settles else "failed"))
        yield from self._broken(machine, 5.0, 30.0)

    def _break(self, machine: Machine, worker: Worker) -> Steps:
        """Whatever begins fails within seconds, for half an hour or so."""
        del worker
        yield from self._broken(machine, 600.0, 3600.0)

    def _broken(self, machine: Machine, least: float, most: float) -> Steps:
        for machine.broken in (True, False):
            machine.note(self.clock.now)
            if machine.broken:
                yield float(self.rng.uniform(least, most))

    def dismiss(self, worker: Worker) -> None:
        """The driver ends a worker on which an attempt hung; it is taken on again later."""
        if worker.machine.worker is worker and worker.meter.reachable:
            self._end(worker)
            self.clock.spawn(self._again(worker))

    def _again(self, worker: Worker) -> Steps:
        yield AGAIN
        self._up(worker.machine, after=worker)

    def _up(self, machine: Machine, after: Worker | None = None) -> None:
        if after is not None:
            self.money.lost(after.meter)
        machine.starts += 1
        name = f"m{machine.number}" + (f"#{machine.starts}" if machine.starts > 1 else "")
        machine.worker = Worker(name, machine, self.money.open(name))
        machine.note(self.clock.now)
        self.clock.spawn(self.money.report(machine.worker.meter))
        self.driver.hear(("up", machine.worker))

    def _end(self, worker: Worker) -> None:
        worker.machine.worker = None
        worker.machine.note(self.clock.now)
        worker.meter.reachable = False
        for _, process in [*worker.attempts.values()]:
            self.clock.kill(process)

    def _pauses(self) -> Steps:
        while True:
            yield float(self.rng.exponential(self.scenario.pause_every))
            self.money.provider.held_until = self.clock.now + float(self.rng.uniform(5.0, 60.0))
