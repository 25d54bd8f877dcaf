"""The parts of a report that group runs: by arm, capability, question, variant, factor, tool and time."""

from dataclasses import dataclass
from typing import Literal

from tiltyard_report.measure_model import Measure, Rate
from tiltyard_stats import Interval


@dataclass(frozen=True, slots=True)
class Group:
    """Some runs of one agent, and the groups within. No score goes over capabilities: each stands alone."""

    level: Literal["arm", "capability", "question", "variant"]
    name: str
    agent: str
    """The agent without model and effort; results of different agents are never added up."""
    runs: int
    """Counted ones."""
    excluded: int
    correct: Rate | None
    """None for an arm that spans several capabilities."""
    tokens: Measure
    usd: Measure
    seconds: Measure
    groups: tuple["Group", ...]


@dataclass(frozen=True, slots=True)
class FactorRow:
    """The pass rate at one level of a factor, over the arms and agents that have it."""

    factor: str
    level: str
    mean: float
    adjusted: float
    """With the other factors held equal; NaN where they cannot be told apart."""
    variants: int
    label: str
    """`balanced`, else `unadjusted`: then the means do not show one factor's effect."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """How often one tool was called."""

    agent: str
    arm: str
    tool: str
    calls: int
    runs: int
    """Counted runs that called it."""


@dataclass(frozen=True, slots=True)
class OrderBin:
    """Runs that were made one after the other: what changes along them is drift, not the arm."""

    agent: str
    arm: str
    first: int
    """Place in the plan's order, or in the order of starting."""
    last: int
    started_at: str
    """Of the first one."""
    runs: int
    passed: int
    tokens: float
    """Mean; NaN when not known."""
    seconds: float
    relative_tokens: float
    """Mean of what each run used over the mean of its question with the same arm; NaN when not known."""
    relative_seconds: float


@dataclass(frozen=True, slots=True)
class DriftRow:
    """Change along the order of the runs with one agent, within questions and arms."""

    agent: str
    quantity: Literal["tokens", "seconds", "passes"]
    """Seconds only where no tokens are known."""
    change: Interval
    """From the first place to the last: a factor, for passes a difference. Bounds are NaN when not known."""
    pvalue: float
    """Of no change, two-sided; NaN when it cannot be tested."""
    adjusted: float
    """After Holm's correction for all of these tests."""
    drifted: bool
    apart: bool
    """Whether the arms did not run side by side: then drift may look like the doing of an arm."""


@dataclass(frozen=True, slots=True)
class SettledRow:
    """A comparison as it stood after so many repetitions. To look at, not to stop by."""

    agent: str
    arm: str
    rep: int
    """Runs of repetitions up to this one."""
    ratio: Interval | None
    """Relative tokens."""
    difference: Interval | None
    """Of the pass rates."""


@dataclass(frozen=True, slots=True)
class LossRow:
    """Runs of an arm that were lost."""

    arm: str
    lost: int
    runs: int


@dataclass(frozen=True, slots=True)
class QuestionLoss:
    """The question that lost the largest share of its runs."""

    question: str
    lost: int
    runs: int
    rest_lost: int
    """Of all other questions."""
    rest_runs: int
    pvalue: float
    """Fisher's exact test of the one against the rest, corrected for having been picked."""
    uneven: bool


@dataclass(frozen=True, slots=True)
class Losses:
    """Whether lost runs (infra, unmetered) have to do with the arm."""

    arms: tuple[LossRow, ...]
    worst: str
    pvalue: float
    """Fisher's exact test of that arm against the rest."""
    uneven: bool
