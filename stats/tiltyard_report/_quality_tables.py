"""The tables on quality: pass rates beside the baseline's, repeats and steadiness, what a success costs."""

from collections.abc import Callable, Iterable, Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._table import escape, table
from tiltyard_report._verdicts import UNEVEN, decision
from tiltyard_report.measure_model import Measure
from tiltyard_report.model import AgentReport, ArmRow, Report
from tiltyard_report.quality_model import Quality
from tiltyard_stats import Interval


def quality_sections(report: Report) -> Iterable[tuple[str, str]]:
    """A title and a body for each table; the columns are explained below it."""
    agents = [agent for agent in report.agents if any(row.quality for row in agent.arms)]
    if any(row.delta for agent in agents for row in agent.arms):
        yield "Pass rates", _each(agents, lambda rows: _rates(rows, report), _RATES)
    steady = [_each(agents, lambda rows: _repeats(rows, report), _REPEATS), _flaky(agents)]
    yield "Repeats and steadiness", "\n".join(filter(None, steady))
    costs = [_each(agents, _successes, _SUCCESSES), _with_losses(agents)]
    yield "What a success costs", "\n\n".join(filter(None, costs))


def _flaky(agents: Sequence[AgentReport]) -> str:
    """Which questions they are, for the first arms."""
    lines = [
        f"- flaky with {escape(agent.agent)}, {escape(row.arm)}: "
        f"{escape(fmt.listed(row.quality.flaky_questions, _NAMED))}."
        for agent in agents
        for row in agent.arms
        if row.quality and row.quality.flaky_questions
    ]
    more = [f"- {fmt.plural(len(lines) - _NAMED, 'more arm')} with flaky questions: see --format csv."]
    return "\n".join(lines[:_NAMED] + more * (len(lines) > _NAMED))


def _with_losses(agents: Sequence[AgentReport]) -> str:
    """What a success costs when everything that was paid is counted."""
    lines = [
        f"- {escape(row.arm)} with {escape(agent.agent)}: {_paid(row.quality)} "
        f"(with {fmt.plural(row.quality.lost, 'more run')})."
        for agent in agents
        for row in agent.arms
        if row.quality and row.quality.lost and row.correct.successes
    ]
    why = "A success with the spend of excluded runs and earlier attempts counted in:"
    return "\n\n".join([why, "\n".join(lines)]) if lines else ""


def _paid(quality: Quality) -> str:
    tokens, usd = quality.all_tokens_per_success, quality.all_usd_per_success
    paid = [f"{fmt.thousands(tokens)}k tokens"] * (tokens > 0) + [fmt.dollars(usd)] * (usd > 0)
    least = "at least " if paid and quality.all_unknown else ""
    return f"{least}{', '.join(paid)}" if paid else "not known"


_RATES = (
    "pass rate: each question weighs the same, so it may differ from correct runs over all runs.",
    "points: percentage points more or less than the baseline, on the questions that both ran.",
    "sees: smallest difference, in points, that so many runs find with 80% power.",
    "p: two-sided, of equal rates in each question, after correction for all comparisons.",
)
_REPEATS = (
    "pass@k: at least one of k attempts passes; pass^k: all k do.",
    "whole: complete repetitions in which every question passed; steady: questions whose runs all agree.",
    "score: recall of the answer key, else 1 for a pass; tool calls: mean of a run.",
    "always, never, flaky: questions that pass in all their runs, in none, in some.",
)
_NAMED = 8
"""Flaky questions that are named of an arm, and arms that are."""
_FRONTIER = "frontier: no other arm is at least as good in passes, score, time and cost, and better in one"
_SUCCESSES = (
    "spend of all counted runs, failures included, over the passes; no range under 5 passes.",
    f"{_FRONTIER}; in brackets how often that holds when the repetitions are drawn anew.",
)


def _each(
    agents: Sequence[AgentReport], body: Callable[[Sequence[ArmRow]], str], legend: Sequence[str]
) -> str:
    parts = []
    for agent in agents:
        rows = [row for row in agent.arms if row.quality]
        parts.append(f"With {escape(agent.agent)}:\n\n{body(rows)}" if len(agents) > 1 else body(rows))
    return "\n\n".join([*parts, "\n".join(f"- {line}" for line in legend)]) if parts else ""


def _rates(rows: Sequence[ArmRow], report: Report) -> str:
    level = fmt.level(report.confidence)
    passes = [row.delta.passes if row.delta else None for row in rows]
    columns = {
        "arm": [row.arm for row in rows],
        f"pass rate, % ({level}%)": fmt.intervals([_rate(row) for row in rows], _percent),
        f"points ({level}%)": [_points(row) for row in rows],
        "sees": [fmt.amount(item.detectable, _percent) if item else fmt.NONE for item in passes],
        "p": [fmt.NONE if item is None else fmt.bare_pvalue(item.adjusted) for item in passes],
        "verdict": [
            "baseline" if row.baseline else decision(item.decision) if item else fmt.NONE
            for row, item in zip(rows, passes, strict=True)
        ],
    }
    return _table(columns)


def _points(row: ArmRow) -> str:
    """The difference; its bounds where an arm lost more runs than chance explains: then no point is known."""
    item = row.delta.passes if row.delta else None
    if item is None:
        return fmt.NONE
    bounds = row.delta.bounds if row.delta else None
    if bounds and UNEVEN in item.decision.warnings:
        return f"bounds {fmt.points(bounds.low)} to {fmt.points(bounds.high)}"
    return f"{fmt.points(item.interval.estimate)} ({fmt.point_bounds(item.interval)})"


def _mean(measure: Measure, show: fmt.Show) -> str:
    return fmt.amount(measure.interval.estimate, show) if measure.interval else fmt.NONE


def _repeats(rows: Sequence[ArmRow], report: Report) -> str:
    quality = [row.quality for row in rows if row.quality]
    arms = [row.arm for row in rows]
    repeats = {"arm": arms}
    for k in report.pass_k:
        found = [next((item for item in each.repeats if item.k == k), None) for each in quality]
        if any(found):
            repeats[f"pass@{k}, %"] = _shares([item.at_least_one if item else None for item in found])
            # With one attempt the two are the same.
            if k > 1:
                repeats[f"pass^{k}, %"] = _shares([item.every if item else None for item in found])
    steady = {
        "arm": arms,
        "whole, %": _shares([each.reliability for each in quality], "repetition"),
        "steady, %": _shares([each.consistency for each in quality]),
        "always/never/flaky": [f"{each.always}/{each.never}/{each.flaky}" for each in quality],
        "score": [_mean(row.score, _hundredths) for row in rows],
        "tool calls": [_mean(row.tool_calls, fmt.tenths) for row in rows],
    }
    return "\n\n".join([_table(repeats), _table(steady)])


def _shares(items: Sequence[Interval | None], over: str = "question") -> list[str]:
    shown = fmt.intervals(items, _percent, over=over)
    return [cell if item else fmt.NONE for item, cell in zip(items, shown, strict=True)]


def _successes(rows: Sequence[ArmRow]) -> str:
    quality = [row.quality for row in rows]
    parts = {
        "k tokens": ([item.tokens_per_success if item else None for item in quality], _thousands),
        "USD": ([item.usd_per_success if item else None for item in quality], fmt.dollars),
        "seconds": ([item.seconds_per_success if item else None for item in quality], fmt.significant),
    }
    columns = {"arm": [row.arm for row in rows]}
    columns |= {name: fmt.intervals(items, show) for name, (items, show) in parts.items()}
    columns["frontier"] = [_frontier(row) for row in rows]
    return _table(columns)


def _frontier(row: ArmRow) -> str:
    place = row.quality.frontier if row.quality else None
    if place is None or place.on is None or place.among < 2:  # noqa: PLR2004 - alone it is no frontier
        return fmt.NONE
    sure = fmt.amount(place.probability, lambda value: f" ({fmt.percent(value)}%)")
    return ("on it" if place.on else "behind") + ("" if sure == fmt.NONE else sure)


def _rate(row: ArmRow) -> Interval | None:
    return row.quality.rate.interval if row.quality and row.quality.rate else None


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _hundredths(value: float) -> str:
    return f"{value:.2f}"


def _thousands(value: float) -> str:
    return fmt.amount(value, fmt.thousands)


def _table(columns: dict[str, list[str]]) -> str:
    return table(list(columns), list(zip(*columns.values(), strict=True)))
