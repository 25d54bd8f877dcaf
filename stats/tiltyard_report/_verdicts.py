"""Verdicts in the words that tables and sentences share."""

from collections.abc import Sequence
from typing import NamedTuple

from tiltyard_report import _format as fmt
from tiltyard_report.model import AgentReport, ArmRow, Comparison
from tiltyard_stats import Decision
from tiltyard_stats.decide import MINIMUM_RUNS, NO_VERDICT

UNEVEN = "uneven-losses"
WORDS = {
    UNEVEN: "runs lost unevenly",
    "few-runs": f"under {MINIMUM_RUNS} runs a side",
    "unknown-bound": "interval not known",
    "unknown-cost": "no tokens to compare",
    "free-baseline": "the baseline used 0 tokens",
    "unknown-tokens": "tokens not fully known",
    "partial": "trial not complete",
    "multiplicity": "after correction",
    "provisional": "provisional",
    "rerun": "repetitions differ too much, run it again",
}


class Compared(NamedTuple):
    """One comparison of tokens, with where it stands in the report."""

    agent: AgentReport
    row: ArmRow
    comparison: Comparison

    @property
    def verdict(self) -> str:
        return self.comparison.decision.verdict if self.comparison.decision else NO_VERDICT

    @property
    def codes(self) -> tuple[str, ...]:
        return self.comparison.decision.warnings if self.comparison.decision else ()

    @property
    def why(self) -> str:
        """Why there is no verdict: in the table's words, but for unknown tokens, which are told in full."""
        if "unknown-tokens" in self.codes:
            return unknown_tokens(self.comparison)
        return ", ".join(_known(self.codes))


def comparisons(agents: Sequence[AgentReport]) -> list[Compared]:
    """Every comparison of tokens in the report, in its order."""
    return [
        Compared(agent, row, row.relative_tokens)
        for agent in agents
        for row in agent.arms
        if row.relative_tokens
    ]


def unknown_tokens(comparison: Comparison) -> str:
    """Whose tokens are not fully known, or nothing."""
    sides = [f"{gap.unknown} of {fmt.plural(gap.runs, 'run')} of {gap.arm}" for gap in comparison.gaps]
    return f"the tokens of {fmt.listed(sides)} are not fully known" if sides else ""


def decision(made: Decision) -> str:
    """A verdict with its reservations."""
    words = ", ".join(_known(made.warnings))
    if not words:
        return made.verdict
    return f"{made.verdict}: {words}" if made.verdict == NO_VERDICT else f"{made.verdict} ({words})"


def _known(codes: Sequence[str]) -> list[str]:
    return [WORDS[code] for code in codes if code in WORDS]
