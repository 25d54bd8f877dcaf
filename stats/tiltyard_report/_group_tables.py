"""The tables by capability, by factor and by tool."""

from collections.abc import Iterable

from tiltyard_report import _format as fmt
from tiltyard_report._table import table
from tiltyard_report.group_model import Group
from tiltyard_report.measure_model import Measure
from tiltyard_report.model import Report

_SHOWN = 30
"""Rows that are told; JSON has all."""


def group_sections(report: Report) -> Iterable[tuple[str, str]]:
    """A title and a body for each table that has rows."""
    yield "By capability", _capabilities(report)
    yield "Factors", _factors(report)
    yield "Tool calls", _tools(report)


def _capabilities(report: Report) -> str:
    """Totals of each capability; a total over them would be a score that nobody defined."""
    found = [
        (arm, group)
        for arm in report.groups
        for group in arm.groups
        if group.level == "capability" and group.name
    ]
    rows = [
        [group.name, arm.name, group.agent, _correct(group), _tokens(group.tokens), _usd(group.usd)]
        for arm, group in sorted(found, key=lambda item: item[1].name)
    ]
    if not rows:
        return _incomplete(report) if report.incomplete_groups else ""
    why = "Each capability stands for itself: there is no score over all of them."
    head = ["capability", "arm", "agent", "correct", "k tokens", "USD"]
    return "\n\n".join(
        filter(None, [table(head, rows[:_SHOWN], text_columns=3), _rest(len(rows)), why, _incomplete(report)])
    )


def _incomplete(report: Report) -> str:
    if not report.incomplete_groups:
        return ""
    which = fmt.plural(report.incomplete_groups, "question")
    return f"Not complete, so left out of the groups: {which} (counted for each agent)."


def _factors(report: Report) -> str:
    if not report.factors:
        return ""
    rows = [
        [
            row.factor,
            row.level,
            str(row.variants),
            fmt.percent(row.mean),
            fmt.amount(row.adjusted, fmt.percent),
        ]
        for row in report.factors
    ]
    why = (
        "balanced: levels are met equally often, so their means are comparable."
        if report.factors[0].label == "balanced"
        else "unadjusted: levels are not met equally often, so a mean shows more than its own factor."
    )
    head = ["factor", "level", "arms", "pass rate, %", "others held equal, %"]
    return f"{table(head, rows[:_SHOWN], text_columns=2)}\n\n- {why}"


def _tools(report: Report) -> str:
    """The three most called ones of each arm."""
    rows, seen = [], dict[tuple[str, str], int]()
    for row in report.tools:
        seen[row.agent, row.arm] = seen.get((row.agent, row.arm), 0) + 1
        if seen[row.agent, row.arm] <= 3:  # noqa: PLR2004 - what a table of many arms can hold
            rows.append([row.tool, row.agent, row.arm, f"{row.calls:,}", f"{row.runs:,}"])
    if not rows:
        return ""
    return "\n\n".join(
        filter(
            None,
            [
                table(["tool", "agent", "arm", "calls", "runs"], rows[:_SHOWN], text_columns=3),
                _rest(len(rows)),
            ],
        )
    )


def _rest(rows: int) -> str:
    return f"{rows - _SHOWN} more rows: the JSON form has them." if rows > _SHOWN else ""


def _correct(group: Group) -> str:
    rate = group.correct
    return f"{rate.successes}/{rate.n}" if rate and rate.n else fmt.NONE


def _tokens(measure: Measure) -> str:
    known = measure.interval and not measure.unknown
    return fmt.thousands(measure.interval.estimate) if known and measure.interval else "unknown"


def _usd(measure: Measure) -> str:
    known = measure.interval and not measure.unknown
    return fmt.dollars(measure.interval.estimate) if known and measure.interval else "unknown"
