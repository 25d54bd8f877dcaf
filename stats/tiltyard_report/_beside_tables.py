"""Each arm beside the baseline in what a run and a success cost: differences and ratios, with intervals."""

from collections.abc import Callable, Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._table import escape, table
from tiltyard_report.delta_model import Delta
from tiltyard_report.model import ArmRow, Report
from tiltyard_stats import Interval

_THOUSAND = 1000
_RUNS = "a run: mean of the question means, arm minus baseline ({level}%); the noise is that of the runs."
_SUCCESSES = "a success: no range under 5 passes on either side."
_UNKNOWN = fmt.intervals([None], fmt.significant)[0]
_Pick = Callable[[Delta], Interval | None]


def beside(report: Report) -> str:
    """The tables of all agents; nothing where nothing is compared."""
    found = [(agent.agent, [row for row in agent.arms if row.delta]) for agent in report.agents]
    parts = [_of_agent(name, rows, several=len(report.agents) > 1) for name, rows in found if rows]
    legend = "\n".join(f"- {line}" for line in (_RUNS.format(level=fmt.level(report.confidence)), _SUCCESSES))
    return "\n\n".join([*parts, legend]) if any(parts) else ""


def _of_agent(agent: str, rows: Sequence[ArmRow], *, several: bool) -> str:
    arms = {"arm": [row.arm for row in rows]}
    runs = arms | {
        "k tokens a run": _column(rows, lambda delta: delta.tokens, _thousands),
        "USD a run": _column(rows, lambda delta: delta.usd, _dollars),
        "seconds a run": _column(rows, lambda delta: delta.seconds, _signed),
    }
    steps = arms | {
        "turns a run": _column(rows, lambda delta: delta.turns, _signed),
        "tool calls a run": _column(rows, lambda delta: delta.tool_calls, _signed),
        "score": _column(rows, lambda delta: delta.score, _hundredths),
    }
    successes = arms | {
        "x tokens": _column(rows, lambda delta: delta.tokens_per_success, fmt.factor, "x"),
        "x USD": _column(rows, lambda delta: delta.usd_per_success, fmt.factor, "x"),
        "x seconds": _column(rows, lambda delta: delta.seconds_per_success, fmt.factor, "x"),
    }
    parts = [f"With {escape(agent)}:"] if several else []
    parts += [_table(runs), _table(steps)]
    if ratios := _table(successes):
        parts += ["What a success costs, times the baseline's:", ratios]
    return "\n\n".join(filter(None, parts))


def _column(rows: Sequence[ArmRow], pick: _Pick, show: fmt.Show, unit: str = "") -> list[str]:
    items = [pick(row.delta) if row.delta else None for row in rows]
    return fmt.intervals(items, show, unit)


def _table(columns: dict[str, list[str]]) -> str:
    """Without the columns of which nothing is known; nothing where none is left."""
    columns = {name: cells for name, cells in columns.items() if set(cells) != {_UNKNOWN}}
    return "" if len(columns) == 1 else table(list(columns), list(zip(*columns.values(), strict=True)))


def _signed(value: float) -> str:
    text = fmt.significant(abs(value))
    return (
        text
        if text.startswith("<") or float(text.replace(",", "")) == 0
        else f"{'+' if value > 0 else '-'}{text}"
    )


def _thousands(value: float) -> str:
    return _signed(value / _THOUSAND)


def _dollars(value: float) -> str:
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{fmt.dollars(abs(value))}"


def _hundredths(value: float) -> str:
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text
