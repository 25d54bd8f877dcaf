"""The first sentence of a report that knows passes and no tokens: which arm, by how much, how sure."""

from collections.abc import Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._passes import HIGHER, LOWER
from tiltyard_report._verdicts import UNEVEN, Compared, decision
from tiltyard_report.delta_model import PassDifference
from tiltyard_report.model import AgentReport, ArmRow
from tiltyard_stats.decide import NO_DIFFERENCE, NO_VERDICT

_ORDER = (HIGHER, LOWER, NO_DIFFERENCE, NO_VERDICT)


def headline(agents: Sequence[AgentReport], baseline: str, tokens: Compared) -> tuple[str, str] | None:
    """The sentence, without its end, and its verdict; None where tokens are the better thing to speak of.

    That is so while tokens are known and passes show no difference either.
    """
    rows = [
        (agent.agent, row, row.delta.passes)
        for agent in agents
        for row in agent.arms
        if row.delta and row.delta.passes
    ]
    if not rows:
        return None
    agent, row, passes = min(rows, key=lambda item: max(1, _ORDER.index(item[2].decision.verdict)))
    unknown = "unknown-cost" in tokens.codes
    if passes.decision.verdict == NO_VERDICT or (passes.decision.verdict == NO_DIFFERENCE and not unknown):
        return None
    others = len(rows) - 1
    rest = f"; {fmt.plural(others, 'other comparison')} below" if others else ""
    base = next((each for one in agents if one.agent == agent for each in one.arms if each.baseline), None)
    known = "no tokens are known" if unknown else "tokens get no verdict"
    return f"{_said(agent, row, base, passes, baseline)}; {known}{rest}", passes.decision.verdict


def _said(agent: str, row: ArmRow, base: ArmRow | None, passes: PassDifference, baseline: str) -> str:
    points = fmt.points(passes.interval.estimate)
    size = f"{points.lstrip('+-')} points {'less' if points.startswith('-') else 'more'} often than"
    found = row.delta.bounds if row.delta else None
    if found and UNEVEN in passes.decision.warnings:
        return (
            f"{row.arm} passes {fmt.points(found.low)} to {fmt.points(found.high)} points more often than "
            f"{baseline} with {agent}, wherever the lost runs would have ended: {decision(passes.decision)}"
        )
    level = fmt.level(passes.interval.confidence)
    bounds = f"{level}% {fmt.point_bounds(passes.interval)}"
    sure = "" if passes.adjusted != passes.adjusted else f", {fmt.pvalue(passes.adjusted)}"
    scores = f"{_score(row)} against {_score(base)}" if base else _score(row)
    return (
        f"{row.arm} passes {size} {baseline} with {agent} ({bounds}{sure}): "
        f"{decision(passes.decision)}, with {scores} runs right"
    )


def _score(row: ArmRow) -> str:
    return f"{row.correct.successes}/{row.correct.n}"
