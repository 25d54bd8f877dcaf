"""The tables that compare arms: how they did with one agent, and question by question."""

from collections.abc import Callable, Iterable, Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._table import escape, table
from tiltyard_report._verdicts import decision
from tiltyard_report.measure_model import Measure
from tiltyard_report.model import AgentReport, ArmRow, Comparison, QuestionCell, QuestionRow, Report
from tiltyard_stats.decide import NO_VERDICT

_THOUSAND = 1000
_USED_TOOL = "used tool: runs in which a tool call matched the arm's `uses`, of those that count."
_RELATIVE = "x tokens, x USD: times the baseline's, question by question."


def agent_sections(report: Report) -> Iterable[tuple[str, str]]:
    """A title and a body for each agent; the columns are explained once."""
    level = fmt.level(report.confidence)
    compared = any(row.relative_tokens for agent in report.agents for row in agent.arms)
    for position, agent in enumerate(report.agents):
        models = [f"Model: {', '.join(map(escape, agent.models))}"] if agent.models else []
        tables = _compared(agent.arms, level) if compared else [_alone(agent.arms, level)]
        legend = [_legend(report.agents, compared=compared)] if position == 0 else []
        yield f"With {escape(agent.agent)}", "\n\n".join(filter(None, [*models, *tables, *legend]))


def by_question(report: Report) -> Iterable[tuple[str, str]]:
    """Tokens and passes by question; nothing for a single question."""
    if len(report.questions) > 1:
        if any(cell.tokens.known for row in report.questions for cell in row.cells):
            yield "Tokens by question (mean, thousands)", _cells(report, _tokens_column)
        yield "Correct by question", _cells(report, _correct_column)


_FOLDED = 40
"""Questions beyond which only those that moved most are told."""


def _cells(report: Report, show: Callable[[Sequence[QuestionCell]], list[str]]) -> str:
    """The table, of many questions only those in which arms differ most."""
    if len(report.questions) <= _FOLDED:
        return _tables(report, report.questions, show)
    ranked = sorted(report.questions, key=lambda row: (-_moved(row), row.question))[:_FOLDED]
    rest = f"{len(report.questions) - _FOLDED} more questions, in which arms differ less: see --format cases."
    return f"{_tables(report, ranked, show)}\n\n{rest}"


def _moved(row: QuestionRow) -> float:
    """How far the pass rates of a question lie apart."""
    rates = [cell.correct.successes / cell.correct.n for cell in row.cells if cell.correct.n]
    return max(rates, default=0.0) - min(rates, default=0.0)


def _tables(
    report: Report, rows: Sequence[QuestionRow], show: Callable[[Sequence[QuestionCell]], list[str]]
) -> str:
    """One table, or where it would be too wide for a terminal one for each agent."""
    names = [row.question for row in rows]
    columns = list(zip(*(row.cells for row in rows), strict=True))
    shown = [show(cells) for cells in columns]
    several = len(report.agents) > 1
    labels = [f"{cells[0].agent}/{cells[0].arm}" if several else cells[0].arm for cells in columns]
    whole = table(["question", *labels], _rows([names, *shown]))
    if not several or "\n\n" not in whole:
        return whole
    parts = []
    for agent in report.agents:
        own = [
            (cells, text) for cells, text in zip(columns, shown, strict=True) if cells[0].agent == agent.agent
        ]
        head = ["question", *(cells[0].arm for cells, _ in own)]
        parts.append(
            f"With {escape(agent.agent)}:\n\n{table(head, _rows([names, *(text for _, text in own)]))}"
        )
    return "\n\n".join(parts)


def _compared(rows: Sequence[ArmRow], level: str) -> list[str]:
    """What the verdict rests on, and then the means: all in one table no terminal could show."""
    first = {
        "arm": [row.arm for row in rows],
        "runs": [str(row.runs) for row in rows],
        f"correct ({level}%)": fmt.rates([row.correct for row in rows]),
        f"x tokens ({level}%)": _relative(
            rows, [row.relative_tokens for row in rows], [r.tokens for r in rows]
        ),
        "verdict": [_verdict(row) for row in rows],
    }
    usd = _relative(rows, [row.relative_usd for row in rows], [row.usd for row in rows])
    arms, tokens, *means = _means(rows, level).items()
    second = dict([arms, tokens, (f"x USD ({level}%)", usd), *means])
    return [table(list(part), _rows(list(part.values()))) for part in (first, second)]


def _alone(rows: Sequence[ArmRow], level: str) -> str:
    arms, *means = _means(rows, level).items()
    runs = [str(row.runs) for row in rows]
    correct = fmt.rates([row.correct for row in rows])
    part = dict([arms, ("runs", runs), (f"correct ({level}%)", correct), *means])
    return table(list(part), _rows(list(part.values())))


def _means(rows: Sequence[ArmRow], level: str) -> dict[str, list[str]]:
    return {
        "arm": [row.arm for row in rows],
        f"tokens, k ({level}%)": _tokens([row.tokens for row in rows]),
        "turns": [_mean(row.turns, fmt.tenths) for row in rows],
        "used tool": [_used(row) for row in rows],
        "seconds": _seconds([row.seconds for row in rows]),
    }


def _legend(agents: Sequence[AgentReport], *, compared: bool) -> str:
    lines = [_RELATIVE] if compared else []
    if any(row.used_tool for agent in agents for row in agent.arms):
        lines.append(_USED_TOOL)
    return "\n".join(f"- {line}" for line in lines)


def _relative(
    rows: Sequence[ArmRow], comparisons: Sequence[Comparison | None], measures: Sequence[Measure]
) -> list[str]:
    cells = fmt.intervals([item.ratio if item else None for item in comparisons], fmt.factor, "x")
    return [
        cell if not row.baseline else "1" if measure.interval and not measure.unknown else "unknown"
        for row, cell, measure in zip(rows, cells, measures, strict=True)
    ]


_NO_RATIO = frozenset({"unknown-cost", "free-baseline"})
"""Where tokens say nothing at all: what was compared is how often the arms pass."""


def _verdict(row: ArmRow) -> str:
    if row.baseline:
        return "baseline"
    comparison = row.relative_tokens
    if comparison is None or comparison.decision is None:
        return fmt.NONE
    passes = row.delta.passes if row.delta else None
    if (
        passes
        and passes.decision.verdict != NO_VERDICT
        and not _NO_RATIO.isdisjoint(comparison.decision.warnings)
    ):
        return f"passes: {decision(passes.decision)}"
    return decision(comparison.decision)


def _used(row: ArmRow) -> str:
    return f"{row.used_tool.successes}/{row.used_tool.n}" if row.used_tool else fmt.NONE


def _tokens(measures: Sequence[Measure]) -> list[str]:
    intervals = [measure.interval for measure in measures]
    show = fmt.alike(item.estimate / _THOUSAND for item in intervals if item)
    cells = fmt.intervals(intervals, lambda value: show(value / _THOUSAND))
    return [
        _mean(measure, lambda value: show(value / _THOUSAND)) if measure.unknown else cell
        for cell, measure in zip(cells, measures, strict=True)
    ]


def _seconds(measures: Sequence[Measure]) -> list[str]:
    show = fmt.alike(measure.interval.estimate for measure in measures if measure.interval)
    return [_mean(measure, show) for measure in measures]


def _mean(measure: Measure, show: fmt.Show) -> str:
    """A mean, marked where it leaves runs out."""
    if measure.interval is None:
        return "unknown"
    text, runs = show(measure.interval.estimate), measure.known + measure.unknown
    return f"{text} (known for {measure.known} of {fmt.plural(runs, 'run')})" if measure.unknown else text


def _tokens_column(cells: Sequence[QuestionCell]) -> list[str]:
    measures = [cell.tokens for cell in cells]
    show = fmt.alike(item.interval.estimate / _THOUSAND for item in measures if item.interval)
    return [
        _mean(item, lambda value: show(value / _THOUSAND)) if item.known or item.unknown else fmt.NONE
        for item in measures
    ]


def _correct_column(cells: Sequence[QuestionCell]) -> list[str]:
    return [f"{cell.correct.successes}/{cell.correct.n}" if cell.correct.n else fmt.NONE for cell in cells]


def _rows(columns: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    return list(zip(*columns, strict=True))
