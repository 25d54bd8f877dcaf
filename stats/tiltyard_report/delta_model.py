"""The parts of a report that set an arm against the baseline beyond its relative cost."""

from dataclasses import dataclass
from typing import Literal

from tiltyard_report.quality_model import Design
from tiltyard_stats import Decision, Interval

Policy = Literal["exclude", "failures", "worst-case"]


@dataclass(frozen=True, slots=True)
class PassDifference:
    """Difference of two pass rates on the questions that both sides ran, arm minus baseline."""

    design: Design
    rule: str
    """As in `PassRate`."""
    interval: Interval
    pvalue: float
    """Two-sided, of equal rates in each question; NaN for a design that has only its interval."""
    adjusted: float
    """After Holm's correction for all pass-rate comparisons of the report; NaN when not tested."""
    midp: float
    """The same test with mid-p; NaN where there is none."""
    p_drop: float
    """One-sided, of a drop; for one question it is Fisher's exact test."""
    p_rise: float
    test: str
    """Name of the test."""
    n_arm: int
    n_baseline: int
    questions: tuple[str, ...]
    left_out: tuple[str, ...]
    """Questions that some side or some result lacks."""
    detectable: float
    """Smallest difference that runs as many as these find with 80% power; NaN when not known."""
    decision: Decision
    """higher, lower, no clear difference or no verdict, with its reservations."""
    method: str
    """The method sentence."""
    claim: str
    """The claim sentence."""
    estimand: str
    """What was estimated, on what, and how far it reaches."""


@dataclass(frozen=True, slots=True)
class FactorChange:
    """One thing in which the arm differs from the baseline."""

    name: str
    baseline: str | None
    """None where the baseline lacks it."""
    candidate: str | None


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """The verdicts when crashed runs are treated so."""

    policy: Policy
    passes: str
    """The verdict on the pass rate."""
    difference: float
    """The difference that it rests on; for the worst case the one nearest to a flip. NaN without runs."""
    tokens: str
    """The verdict on tokens; `unknown` where the spend of a crashed run is not known."""
    flips: bool
    """Whether a verdict is another than the report's own."""


@dataclass(frozen=True, slots=True)
class LossBounds:
    """Where the difference of the pass rates lies, however the crashed runs would have ended (Manski)."""

    low: float
    """All that the arm lost fails, all that the baseline lost passes."""
    high: float
    """The other way round."""
    outer_low: float
    """Lower end of the interval of the one: with the noise of the runs; NaN when not known."""
    outer_high: float
    lost_arm: int
    lost_baseline: int


@dataclass(frozen=True, slots=True)
class Settle:
    """What it would take to settle an inconclusive comparison, if its estimate holds."""

    measure: Literal["tokens", "passes"]
    runs_per_arm: int | None
    """In all; None where no number would do."""
    more_runs: int | None
    """Runs to add, over both arms."""
    tokens: float
    """What these would use, at the mean of each arm so far; NaN when not known."""
    usd: float
    reason: str
    """Why there is no number; empty where there is one."""


@dataclass(frozen=True, slots=True)
class Delta:
    """One arm against the baseline with the same agent."""

    passes: PassDifference | None
    """None without a common question."""
    factors: tuple[FactorChange, ...]
    factor_warnings: tuple[str, ...]
    """`several-factors`: their effects cannot be told apart; `no-factors`: the arms are alike."""
    regressed: tuple[str, ...]
    """Questions whose pass rate fell by more than the threshold. Leads, no findings: few runs each."""
    improved: tuple[str, ...]
    threshold: float
    """Absolute change of a pass rate."""
    tokens: Interval | None
    """Difference of the mean of a run, arm minus baseline; None where a value is not known."""
    usd: Interval | None
    seconds: Interval | None
    score: Interval | None
    turns: Interval | None
    tool_calls: Interval | None
    tokens_per_success: Interval | None
    """Ratio of what a success costs, arm over baseline."""
    usd_per_success: Interval | None
    seconds_per_success: Interval | None
    tokens_method: str
    """The method sentence of the relative cost; empty without one."""
    tokens_claim: str
    tokens_estimand: str
    policies: tuple[PolicyRow, ...]
    """The three, in their order; the first is the report's own."""
    flips: bool
    """Whether a verdict depends on how crashed runs are counted."""
    bounds: LossBounds | None
    """None without a crashed run, and of a partial result."""
    settle: tuple[Settle, ...]
    """One for each inconclusive measure."""
