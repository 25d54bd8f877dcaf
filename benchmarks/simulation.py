"""What a simulated trial came to, and how that compares with the best that could be."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from simulated_cluster import Cluster, Machine, Scenario

HOUR = 3600.0
DOLLAR = 1_000_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one simulation."""

    scenario: Scenario
    seconds: float
    """From the first start to the last end, in simulated time."""
    ideal: float
    """When the work would be done if every second of every slot that was up did useful work."""
    settled: int
    """Runs with a record in the store."""
    told: int
    """Runs of which the driver has told that they are settled."""
    attempts: int
    lost: int
    """Attempts that the driver took for lost."""
    incidents: dict[str, int]
    slot_hours: dict[str, float]
    """By what became of the attempts."""
    live_hours: float
    """Of slots that were up, until the end."""
    owed: float
    """What the provider is owed, as a share of the budget."""
    highest: float
    """What was owed or in flight at most, as a share of the budget."""
    stopped: bool
    """Whether the budget ended the trial."""
    news: int
    scheduling: float
    """Seconds of real processor time in the scheduler, for each piece of news."""

    @property
    def ratio(self) -> float:
        """Over the ideal."""
        return self.seconds / self.ideal

    def lines(self) -> Iterator[str]:
        """For people."""
        runs, shape = self.scenario.runs, self.scenario
        yield f"simulated: {runs:,} runs, {shape.nodes} nodes of {shape.slots} slots, seed {shape.seed}"
        ideal = f"ideal {self.ideal / HOUR:.2f} h: {self.ratio:.3f} of it"
        yield f"  time {self.seconds / HOUR:.2f} h, {'until the budget ended it' if self.stopped else ideal}"
        told = f"settled {self.settled:,}, told of {self.told:,}"
        yield f"  {told}, attempts {self.attempts:,}, of which lost {self.lost:,}"
        yield "  incidents: " + ", ".join(f"{what} {times}" for what, times in sorted(self.incidents.items()))
        parts = dict(self.slot_hours)
        parts["no attempt"] = self.live_hours - sum(self.slot_hours.values())
        yield "  slot-hours: " + ", ".join(f"{what} {hours:,.1f}" for what, hours in sorted(parts.items()))
        yield (
            f"  budget ${shape.cap / DOLLAR:,.0f}: owed {self.owed:.1%}, owed or in flight at most "
            f"{self.highest:.1%}"
        )
        yield f"  scheduler: {self.scheduling * 1e6:.0f} us for each of {self.news:,} pieces of news"


def simulate(scenario: Scenario) -> Outcome:
    """Run a trial on a simulated cluster.

    Raises:
        AssertionError: The budget could be passed, or an attempt begins twice.
    """
    cluster = Cluster(scenario, np.random.default_rng(scenario.seed))
    cluster.run()
    driver, money, now = cluster.driver, cluster.money, cluster.clock.now
    ended = {what: cluster.tally.seconds[what] / HOUR for what in cluster.tally.seconds}
    return Outcome(
        scenario=scenario,
        seconds=now,
        ideal=ideal_seconds(cluster.machines, sum(cluster.lengths), scenario.slots),
        settled=len(cluster.store),
        told=len(driver.told),
        attempts=sum(cluster.tally.times.values()),
        lost=driver.lost,
        incidents=dict(cluster.incidents),
        slot_hours=ended,
        live_hours=sum(live_seconds(machine, now) for machine in cluster.machines) * scenario.slots / HOUR,
        owed=money.provider.owed / scenario.cap,
        highest=money.provider.highest / scenario.cap,
        stopped=driver.stopped,
        news=driver.news,
        scheduling=driver.cpu / driver.news,
    )


def ideal_seconds(machines: Iterable[Machine], work: float, slots: int) -> float:
    """When all work is done if no slot that is up ever idles, waits, or does anything in vain.

    Args:
        machines: What each of them could do, and when.
        work: Seconds of it, each run once.
        slots: Of each machine.
    """
    steps = []
    for machine in machines:
        before = 0.0
        for moment, speed in machine.changes:
            steps.append((moment, (speed - before) * slots))
            before = speed
    now = rate = 0.0
    for moment, change in sorted(steps):
        if rate * (moment - now) >= work:
            break
        work -= rate * (moment - now)
        now, rate = moment, rate + change
    return now + work / rate


def live_seconds(machine: Machine, end: float) -> float:
    """How long a machine was up and sound."""
    ends = [moment for moment, _ in machine.changes[1:]] + [end]
    return sum(
        until - moment for (moment, speed), until in zip(machine.changes, ends, strict=True) if speed > 0
    )
