"""The parts of a report that say how well an arm did: pass rate, repeats, steadiness, cost of a success."""

from dataclasses import dataclass
from typing import Literal

from tiltyard_stats import Interval
from tiltyard_stats.repeats import RepeatRate

Design = Literal["curated", "sampled", "clustered"]


@dataclass(frozen=True, slots=True)
class PassRate:
    """The pass rate of one arm with one agent, each question weighing the same."""

    design: Design
    interval: Interval
    rule: str
    """Which interval the runs allow: one-run, fixed-cases, over-runs, rerun, sampled or clustered."""
    complete_runs: int
    """Repetitions in which each question has a counted run."""
    shock_ratio: float
    """Spread of whole repetitions over what single questions explain; NaN where it cannot be seen."""
    shock_pvalue: float
    over_runs: Interval | None
    """Student's t over complete repetitions; None under two of them."""
    claim: str
    """A sentence: of what it speaks."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Pass@k and pass^k."""

    k: int
    at_least_one: RepeatRate
    """pass@k: at least one of k attempts passes."""
    every: RepeatRate
    """pass^k: all k do."""


@dataclass(frozen=True, slots=True)
class FrontierPlace:
    """Whether another arm is at least as good in everything and better in something."""

    on: bool | None
    """Whether none is; None where an axis is not known."""
    probability: float
    """Share of resamples in which none is; NaN under two complete repetitions."""
    axes: tuple[str, ...]
    """What was compared: passes, score, seconds, usd or tokens."""
    among: int
    """Arms (with their agents) that were compared."""
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """How well, how steadily and at what cost one arm with one agent passes."""

    rate: PassRate | None
    """None when no run counts."""
    repeats: tuple[Repeats, ...]
    """One for each k that was asked for and that some question has runs for."""
    reliability: Interval | None
    """Share of complete repetitions in which every question passed; None without one."""
    consistency: Interval | None
    """Share of questions whose runs all agree; None when no question has two runs."""
    always: int
    """Questions that always passed."""
    never: int
    flaky: int
    flaky_questions: tuple[str, ...]
    tokens_per_success: Interval | None
    """Spend of all counted runs over the passes; None where a spend is not fully known."""
    usd_per_success: Interval | None
    seconds_per_success: Interval | None
    all_tokens_per_success: float
    """The same with the spend of excluded runs and of earlier attempts, as far as known; infinite without a
    success."""
    all_usd_per_success: float
    lost: int
    """Excluded runs and earlier attempts whose spend these two count in."""
    all_unknown: int
    """Runs and attempts whose spend is not fully known: then these two are lower bounds."""
    frontier: FrontierPlace | None
