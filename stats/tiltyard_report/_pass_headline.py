"""The first sentence of a report that knows passes and no tokens: which arm, by how much, how sure."""

from collections.abc import Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._passes import HIGHER, LOWER
from tiltyard_report._verdicts import UNEVEN, Compared, decision
from tiltyard_report.delta_model import PassDifference
from tiltyard_report.model import AgentReport, ArmRow
from tiltyard_stats.decide import NO_DIFFERENCE, NO_VERDICT

_ORDER = (HIGHER, LOWER, NO_DIFFERENCE, NO_VERDICT)
_NO_TOKENS = {"unknown-cost": "no tokens are known", "free-baseline": "the baseline used 0 tokens"}
_Found = tuple[str, ArmRow, PassDifference]
"""An agent, an arm, and how its passes differ from the baseline's."""


def headline(agents: Sequence[AgentReport], baseline: str, tokens: Compared) -> tuple[str, str] | None:
    """The sentence, without its end, and its verdict; None where tokens are the better thing to speak of.

    That is so while tokens are known and passes show no difference either.
    """
    rows: list[_Found] = [
        (agent.agent, row, row.delta.passes)
        for agent in agents
        for row in agent.arms
        if row.delta and row.delta.passes
    ]
    if not rows:
        return None
    agent, row, passes = min(rows, key=lambda item: max(1, _ORDER.index(item[2].decision.verdict)))
    unknown = next((code for code in _NO_TOKENS if code in tokens.codes), None)
    if passes.decision.verdict == NO_VERDICT or (passes.decision.verdict == NO_DIFFERENCE and not unknown):
        return None
    others = len(rows) - 1
    rest = f"; {fmt.plural(others, 'other comparison')} below" if others else ""
    base = next((each for one in agents if one.agent == agent for each in one.arms if each.baseline), None)
    known = _NO_TOKENS[unknown] if unknown else "tokens get no verdict"
    against = _against(rows, agent, row, passes)
    if against is not None:
        others -= 1
        rest = f"; {fmt.plural(others, 'other comparison')} below" if others else ""
        said = _both((agent, row, passes), against, baseline)
        return f"{said}; {known}{rest}", passes.decision.verdict
    return f"{_said(agent, row, base, passes, baseline)}; {known}{rest}", passes.decision.verdict


def _against(rows: Sequence[_Found], agent: str, row: ArmRow, passes: PassDifference) -> _Found | None:
    """The same arm with another agent where it came out the other way: the one of the best verdict."""
    estimate = passes.interval.estimate
    other = [
        item
        for item in rows
        if item[0] != agent
        and item[1].arm == row.arm
        and item[2].interval.estimate * estimate < 0
        and item[2].decision.verdict != NO_VERDICT
    ]
    return min(other, key=lambda item: _ORDER.index(item[2].decision.verdict), default=None)


def _both(first: _Found, second: _Found, baseline: str) -> str:
    verdicts = [item[2].decision.verdict for item in (first, second)]
    apart = "" if NO_DIFFERENCE in verdicts else "the agents differ: "
    told = " and ".join(f"{decision(item[2].decision)} with {item[0]}" for item in (first, second))
    return (
        f"{first[1].arm} passes {_size(first[2])} than {baseline} with {first[0]} ({_sure(first[2])}) "
        f"but {_size(second[2])} with {second[0]} ({_sure(second[2])}); {apart}{told}"
    )


def _said(agent: str, row: ArmRow, base: ArmRow | None, passes: PassDifference, baseline: str) -> str:
    found = row.delta.bounds if row.delta else None
    if found and UNEVEN in passes.decision.warnings:
        return (
            f"{row.arm} passes {fmt.points(found.low)} to {fmt.points(found.high)} points more often than "
            f"{baseline} with {agent}, wherever the lost runs would have ended: {decision(passes.decision)}"
        )
    scores = f"{_score(row)} against {_score(base)}" if base else _score(row)
    return (
        f"{row.arm} passes {_size(passes)} than {baseline} with {agent} ({_sure(passes)}): "
        f"{decision(passes.decision)}, with {scores} runs right"
    )


def _size(passes: PassDifference) -> str:
    points = fmt.points(passes.interval.estimate)
    return f"{points.lstrip('+-')} points {'less' if points.startswith('-') else 'more'} often"


def _sure(passes: PassDifference) -> str:
    bounds = f"{fmt.level(passes.interval.confidence)}% {fmt.point_bounds(passes.interval)}"
    return bounds if passes.adjusted != passes.adjusted else f"{bounds}, {fmt.pvalue(passes.adjusted)}"


def _score(row: ArmRow) -> str:
    return f"{row.correct.successes}/{row.correct.n}"
