"""The report as data: every number with its method, n, claim and warnings, and every sentence.

Renderers only lay this out; nothing is computed in a template.
"""

from dataclasses import dataclass
from typing import Literal

from tiltyard_report.audit_model import AuditRow
from tiltyard_report.claims_model import Claims
from tiltyard_report.delta_model import Delta
from tiltyard_report.group_model import (
    DriftRow,
    FactorRow,
    Group,
    Losses,
    OrderBin,
    QuestionLoss,
    SettledRow,
    ToolRow,
)
from tiltyard_report.measure_model import Measure, Rate
from tiltyard_report.quality_model import Design, Quality
from tiltyard_report.reported_model import ReportedRow
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats import Decision, Interval, SampleSize, Spread

SCHEMA_VERSION = 1
"""Version of the JSON form. It rises when a reader of the old form would misread the new one."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Counted runs of an arm whose cost is not fully known."""

    arm: str
    unknown: int
    runs: int
    """Of so many counted ones."""
    open_calls: int
    """Calls in them that may have been billed and whose usage is not fully known."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Relative cost of an arm against the baseline."""

    ratio: Interval | None
    """None when the cost of any counted run is not fully known, or the sides have no common question."""
    gaps: tuple[Gap, ...]
    """The sides with such runs. They are not missing by chance, so the others support no ratio."""
    n_arm: int
    n_baseline: int
    questions: tuple[str, ...]
    """Questions over which the ratio is taken: with runs on both sides, of a baseline that used something."""
    left_out: tuple[str, ...]
    """Questions with runs on one side only."""
    free: tuple[str, ...]
    """Questions that both sides ran and in which the baseline used nothing: they have no ratio."""
    pvalue: float
    """Of equal cost, two-sided; NaN when not known."""
    adjusted: float
    """The same after Holm's correction for all comparisons of the report; NaN when not tested."""
    decision: Decision | None
    """None for a quantity that gets no verdict (USD)."""


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm with one agent, over all its counted runs."""

    arm: str
    baseline: bool
    runs: int
    excluded: int
    correct: Rate
    tokens: Measure
    usd: Measure
    turns: Measure
    seconds: Measure
    used_tool: Rate | None
    """None when no run knows whether the arm's tool was used."""
    relative_tokens: Comparison | None
    """None for the baseline, and where there is nothing to compare with."""
    relative_usd: Comparison | None
    """None unless the cost of every counted run on both sides is known."""
    score: Measure
    """Recall of the answer key, else 1 for a pass."""
    tool_calls: Measure
    quality: Quality | None
    """None when no run counts."""
    delta: Delta | None
    """None for the baseline, and where there is nothing to compare with."""


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """Run-to-run spread of tokens with one agent, and the runs that a comparison would need."""

    agent: str
    runs: int
    """Runs with known tokens in the arm that has the fewest."""
    unknown: int
    """Counted runs whose tokens are not fully known; the spread leaves them out."""
    spread: Spread | None
    needed: SampleSize | None
    cautious: SampleSize | None
    """The same with the cv raised for its own uncertainty."""


@dataclass(frozen=True, slots=True)
class AgentReport:
    """All arms with one agent."""

    agent: str
    models: tuple[str, ...]
    arms: tuple[ArmRow, ...]


@dataclass(frozen=True, slots=True)
class QuestionCell:
    """One question with one agent and arm."""

    agent: str
    arm: str
    tokens: Measure
    correct: Rate
    usd: Measure
    seconds: Measure
    score: Measure
    flaky: bool
    """Whether its runs do not agree."""
    relative_tokens: Interval | None
    """Against the baseline's on this question; None for the baseline, and where not asked for."""
    difference: Interval | None
    """Of the pass rates, likewise."""


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One question over all agents and arms, in the order of the report's columns."""

    question: str
    cells: tuple[QuestionCell, ...]


@dataclass(frozen=True, slots=True)
class OutcomeCount:
    """How many runs ended so."""

    outcome: Outcome
    count: int


@dataclass(frozen=True, slots=True)
class Reason:
    """Why runs of an arm ended as they did."""

    outcome: Outcome
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Spend:
    """Tokens and USD of some runs, as far as known."""

    runs: int
    tokens: int
    """A lower bound where `tokens_unknown` is not 0."""
    tokens_unknown: int
    usd: float
    """A lower bound where `usd_unknown` is not 0."""
    usd_unknown: int
    open_calls: int
    """Calls that may have been billed and whose usage is not fully known."""
    open_runs: int
    """Runs with such calls."""
    most_tokens: int | None
    """An upper bound, the worst case standing for what is not known; None where there is none."""
    most_usd: float | None


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """How the runs of an arm ended, over all agents."""

    arm: str
    counts: tuple[OutcomeCount, ...]
    """Outcomes that occurred, in the order of `Outcome`."""
    reasons: tuple[Reason, ...]
    """The most frequent ones."""
    excluded: Spend
    """What the excluded runs cost."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report says."""

    schema_version: int
    name: str | None
    state: Literal["complete", "partial", "empty"]
    healthy: bool
    headline: str
    """What the trial shows, by how much and how sure; then what not to claim."""
    alerts: tuple[str, ...]
    """What must be read before any number."""
    scripted: bool
    """Whether the replies were scripted: then tokens and USD are what they would be."""
    confidence: float
    baseline: str | None
    runs: int
    """Of the agents that compete; the oracle and nop stand in `audit`."""
    counted: int
    """Runs among them that count as a pass or a failure."""
    expected_runs: int | None
    """Planned in the whole trial, the oracle and nop included."""
    agents: tuple[AgentReport, ...]
    questions: tuple[QuestionRow, ...]
    audit: tuple[AuditRow, ...]
    """What the oracle and nop show about the questions."""
    spread: tuple[SpreadRow, ...]
    outcomes: tuple[OutcomeRow, ...]
    claims: Claims | None
    """None when no run was asked for one."""
    reported: tuple[ReportedRow, ...]
    """Agents whose own account can be compared with the meter's."""
    spend: Spend
    """All runs of the report."""
    earlier_attempts: Spend
    """Attempts that were retried; their spend is real too."""
    do_not_claim: tuple[str, ...]
    methods: tuple[str, ...]
    """How the numbers were computed."""
    notes: tuple[str, ...]
    caution: str
    """That token totals of agents are not comparable."""
    changes: tuple[str, ...]
    """What changed most, the largest first."""
    design: Design
    """What the questions stand for."""
    method: str
    """`default`, or the name of the method that was asked for."""
    pass_k: tuple[int, ...]
    minimum_trials: int
    regression_threshold: float
    sources: int
    """Results that the report is made from."""
    groups: tuple[Group, ...]
    """By agent and arm; of a partial result the completed ones only."""
    incomplete_groups: int
    """Questions with an agent that were left out of the groups."""
    factors: tuple[FactorRow, ...]
    """Empty unless arms name factors, or models or efforts differ."""
    tools: tuple[ToolRow, ...]
    """The most called ones of each arm."""
    losses: Losses | None
    """None where all arms lost the same share."""
    question_loss: QuestionLoss | None
    """None where all questions lost the same share."""
    order: tuple[OrderBin, ...]
    """By arm, in the order of the runs."""
    drift: tuple[DriftRow, ...]
    """Whether anything changed along that order."""
    settled: tuple[SettledRow, ...]
    """By comparison and repetition; empty for trials too large to show."""
