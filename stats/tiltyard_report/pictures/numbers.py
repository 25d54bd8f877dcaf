"""The numbers behind the pictures, each computed by the statistics. Drawing adds none."""

from dataclasses import dataclass
from typing import Literal

from tiltyard_report.group_model import DriftRow
from tiltyard_stats import Interval, RepeatRate


@dataclass(frozen=True, slots=True)
class ForestRow:
    """One arm against the baseline, on one question or all."""

    agent: str
    arm: str
    question: str | None
    """None for all questions."""
    interval: Interval | None
    """None where there is nothing to compare with."""
    why: str = ""
    """Why there is no interval."""
    verdict: str = ""
    """The report's, where it gives one."""


@dataclass(frozen=True, slots=True)
class Forest:
    """All comparisons of one quantity."""

    quantity: Literal["tokens", "passes"]
    """`tokens`: a ratio; `passes`: a difference of pass rates."""
    baseline: str
    rows: tuple[ForestRow, ...]
    """By agent and arm: all questions first, then each, the largest change first; of many not all."""
    moved: tuple["Moved", ...] = ()
    """By agent and arm, where there are more questions than rows."""


@dataclass(frozen=True, slots=True)
class Moved:
    """On how many questions one arm is above the baseline and on how many below."""

    agent: str
    arm: str
    up: int
    down: int
    questions: int


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One question with one arm and agent."""

    agent: str
    arm: str
    question: str
    passes: int
    n: int
    score: float
    """Mean, from 0 to 1."""
    flaky: bool
    """Whether attempts at the same thing ended differently."""


@dataclass(frozen=True, slots=True)
class Curve:
    """How pass rates go with the attempts that one has."""

    agent: str
    arm: str
    at: tuple[RepeatRate, ...]
    """pass@k: at least one of k attempts passes; k from 1."""
    hat: tuple[RepeatRate, ...]
    """pass^k: all k attempts pass."""


@dataclass(frozen=True, slots=True)
class CostPoint:
    """What one arm costs and how often it passes."""

    agent: str
    arm: str
    cost: Interval
    """Mean of a run."""
    rate: Interval
    frontier: bool
    """Whether no other arm of the same agent passes as often for less."""
    probability: float
    """Share of resamples in which no arm beats it on all of `axes`; NaN when not known."""
    axes: tuple[str, ...]
    """What the resamples compare."""


@dataclass(frozen=True, slots=True)
class Trade:
    """Cost against pass rate."""

    unit: Literal["USD", "tokens"]
    points: tuple[CostPoint, ...]
    left_out: tuple[str, ...]
    """Arms with an agent whose cost is not fully known."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Relative tokens of one arm after so many repetitions."""

    agent: str
    arm: str
    after: tuple[tuple[int, Interval], ...]
    """Repetitions so far, and what they say."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Runs of one arm with one agent that were made one after the other."""

    agent: str
    arm: str
    first: int
    """Place in the order of the trial."""
    last: int
    started_at: str
    runs: int
    passed: int
    amount: float
    """Mean tokens, or seconds; NaN when not known."""
    relative: float
    """Each run's over the mean of its question and arm: what is left is time. NaN when not known."""


@dataclass(frozen=True, slots=True)
class Course:
    """The trial in the order in which it ran."""

    quantity: Literal["tokens", "seconds"]
    """Seconds where no tokens are known."""
    stretches: tuple[Stretch, ...]
    drift: tuple[DriftRow, ...]
    arms: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """Everything that pictures show."""

    forests: tuple[Forest, ...]
    cells: tuple[HeatCell, ...]
    curves: tuple[Curve, ...]
    trade: Trade | None
    settled: tuple[Settled, ...]
    course: Course | None
