"""One run as the statistics see it, however its record was stored."""

from collections.abc import Mapping
from typing import NamedTuple

from tiltyard_report._accounts import Accounts
from tiltyard_specs.claim_record import Claim
from tiltyard_specs.outcomes import Outcome

Cell = tuple[str, str]
"""Agent and arm."""
ORACLE = "oracle"
NOP = "nop"
AUDITORS = frozenset({ORACLE, NOP})
"""Kinds that compete with nobody: they show whether a question is sound."""


class Spent(NamedTuple):
    """The bounds of what a run used, where its tokens or cost are not fully known."""

    least_tokens: int
    """The tokens that are known; 0 where none are."""
    least_usd: float
    """The cost that is known; 0 where none is."""
    open_calls: int
    """Calls that may have been billed and whose usage is not fully known."""
    most_tokens: int | None
    """What the meter charged: the worst case stands for what is not known."""
    most_usd: float | None


class Run(NamedTuple):
    """One run as the statistics see it. None is unknown, which is never 0."""

    question: str
    """`<capability>+<question>` where capabilities are used."""
    question_id: str
    arm: str
    agent: str
    rep: int
    outcome: Outcome
    counted: bool
    """Whether it counts as a pass or a failure. Asked so often that it is kept beside the outcome."""
    passed: bool
    reason: str | None
    tokens: int | None
    """None also where only a part of them is known."""
    kind: str
    """How the agent's output was read; `oracle` and `nop` audit the questions."""
    metered: bool
    """Whether the tokens come from the meter; else the agent reported them."""
    usd: float | None
    spent: Spent
    accounts: Accounts
    turns: float | None
    seconds: float | None
    used_tool: bool | None
    verified: bool
    """Whether the verify command ran."""
    verify_exit: int | None
    """Its exit code, where it ended by itself."""
    model: str | None
    network: str | None
    """`sealed`, `open`, or `allow: host, ...`."""
    images: Mapping[str, object]
    versions: Mapping[str, object]
    warnings: tuple[str, ...]
    claim: Claim | None
    """What the agent says of its own checks; None when it was not asked."""
    capability: str | None
    effort: str | None
    score: float
    """Recall of the answer key where that decides; else 1 for a pass and 0 for anything else."""
    tools: tuple[str, ...]
    """Names of the tool calls, in their order."""
    tool_calls: float | None
    position: int
    """Place in the plan's order."""
    started_at: str
    tags: tuple[str, ...]
    """Of the question, in row files."""
    source: int = 0
    """Which of several results it comes from."""


def score_of(outcome: Outcome, recall: float | None, *, verified: bool) -> float:
    """The score of a run: what decided it."""
    if recall is not None and not verified and outcome in {Outcome.PASSED, Outcome.FAILED}:
        return recall
    return float(outcome.passed)
