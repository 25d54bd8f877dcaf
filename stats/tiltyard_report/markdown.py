"""The report as Markdown that also reads well as plain text. Layout only: numbers and sentences are given."""

from collections.abc import Callable, Iterable, Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._table import code, escape, table
from tiltyard_report.model import (
    AgentReport,
    ArmRow,
    Comparison,
    Measure,
    OutcomeRow,
    QuestionCell,
    Report,
    Spend,
    SpreadRow,
)
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats import Decision

_CODES = {
    "few-runs": "under 4 runs a side",
    "unknown-bound": "interval not known",
    "unknown-cost": "no tokens to compare",
    "partial": "trial not complete",
    "multiplicity": "after correction",
    "provisional": "provisional",
}


def render_markdown(report: Report) -> str:
    """Lay a report out as Markdown."""
    parts = [_title(report), f"**{escape(report.headline)}**"]
    parts += [f"> {escape(alert)}" for alert in report.alerts]
    if report.agents:
        parts += _body(report)
    parts.append(_section("Do not claim", _list(report.do_not_claim)))
    if report.agents:
        parts.append(_section("How this was computed", _list(report.methods)))
        parts.append(f"*{report.caution}*")
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(report: Report) -> str:
    name = escape(report.name or "Trial")
    marks = ["PARTIAL"] * (report.state == "partial") + ["UNHEALTHY"] * (not report.healthy)
    return f"# {', '.join(marks)}: {name}" if marks else f"# {name}"


def _body(report: Report) -> Iterable[str]:
    level = fmt.level(report.confidence)
    compared = any(row.relative_tokens for agent in report.agents for row in agent.arms)
    for agent in report.agents:
        yield _section(f"With {escape(agent.agent)}", _agent(agent, level, compared=compared))
    if len(report.questions) > 1:
        yield _section("Tokens by question (mean, thousands)", _by_question(report, _tokens_cell))
        yield _section("Correct by question", _by_question(report, _correct_cell))
    yield _section("How the runs ended", _outcomes(report))
    yield _section("Spread and runs needed", _spread(report.spread))
    yield _section("Notes", _list(report.notes))


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def _agent(agent: AgentReport, level: str, *, compared: bool) -> str:
    head = ["arm", "runs", f"correct ({level}%)", f"tokens, k ({level}%)"]
    if compared:
        head += [f"x tokens ({level}%)", f"x USD ({level}%)", "verdict"]
    head += ["turns", "used tool", "seconds"]
    rows = [_arm(row, compared=compared) for row in agent.arms]
    models = f"Model: {', '.join(map(escape, agent.models))}\n\n" if agent.models else ""
    return models + table(head, rows)


def _arm(row: ArmRow, *, compared: bool) -> list[str]:
    relative = [
        _relative(row, row.tokens, row.relative_tokens),
        _relative(row, row.usd, row.relative_usd),
        _verdict(row),
    ]
    return [
        row.arm,
        str(row.runs),
        fmt.rate(row.correct),
        fmt.with_bounds(row.tokens.interval, fmt.thousands),
        *(relative if compared else []),
        _mean(row.turns, fmt.tenths),
        f"{row.used_tool.successes}/{row.used_tool.n}" if row.used_tool else fmt.NONE,
        _mean(row.seconds, fmt.significant),
    ]


def _relative(row: ArmRow, measure: Measure, comparison: Comparison | None) -> str:
    if row.baseline:
        return "1" if measure.interval else "unknown"
    return fmt.with_bounds(comparison.ratio if comparison else None, fmt.factor, "x")


def _verdict(row: ArmRow) -> str:
    if row.baseline:
        return "baseline"
    comparison = row.relative_tokens
    return decision(comparison.decision) if comparison and comparison.decision else fmt.NONE


def decision(made: Decision) -> str:
    """A verdict with its reservations."""
    codes = [_CODES[warning] for warning in made.warnings if warning in _CODES]
    return f"{made.verdict} ({', '.join(codes)})" if codes else made.verdict


def _mean(measure: Measure, show: Callable[[float], str]) -> str:
    return show(measure.interval.estimate) if measure.interval else "unknown"


def _by_question(report: Report, show: Callable[[QuestionCell], str]) -> str:
    cells = report.questions[0].cells
    several = len(report.agents) > 1
    head = ["question", *(f"{cell.agent}/{cell.arm}" if several else cell.arm for cell in cells)]
    return table(head, [[row.question, *map(show, row.cells)] for row in report.questions])


def _tokens_cell(cell: QuestionCell) -> str:
    if cell.tokens.interval:
        return fmt.thousands(cell.tokens.interval.estimate)
    return "unknown" if cell.tokens.unknown else fmt.NONE


def _correct_cell(cell: QuestionCell) -> str:
    return f"{cell.correct.successes}/{cell.correct.n}" if cell.correct.n else fmt.NONE


def _outcomes(report: Report) -> str:
    present = {item.outcome for row in report.outcomes for item in row.counts}
    shown = [item for item in Outcome if item in present or item in {Outcome.PASSED, Outcome.FAILED}]
    head = ["arm", *(item if item.counted else f"{item} (excluded)" for item in shown)]
    rows = [[row.arm, *_counts(row, shown)] for row in report.outcomes]
    reasons = "\n".join(line for row in report.outcomes for line in _reasons(row))
    parts = [table(head, rows), *(["Most frequent reasons:", reasons] if reasons else [])]
    return "\n\n".join([*parts, "Spend:", _spending(report)])


def _counts(row: OutcomeRow, shown: Sequence[Outcome]) -> list[str]:
    counts = {item.outcome: item.count for item in row.counts}
    return [str(counts.get(outcome, 0)) for outcome in shown]


def _reasons(row: OutcomeRow) -> Iterable[str]:
    for reason in row.reasons:
        yield f"- {escape(row.arm)}, {reason.outcome}, {reason.count}x: {code(reason.reason)}"


def _spending(report: Report) -> str:
    lines = [f"- All {fmt.plural(report.spend.runs, 'run')}: {_spent(report.spend)}."]
    for row in report.outcomes:
        if row.excluded.runs:
            excluded = fmt.plural(row.excluded.runs, "excluded run")
            lines.append(f"- Of that in the {excluded} of {escape(row.arm)}: {_spent(row.excluded)}.")
    if report.earlier_attempts.runs:
        earlier = fmt.plural(report.earlier_attempts.runs, "earlier attempt")
        lines.append(f"- On top, {earlier} that were retried: {_spent(report.earlier_attempts)}.")
    return "\n".join(lines)


def _spent(spend: Spend) -> str:
    tokens = _known(f"{fmt.thousands(spend.tokens)}k tokens", "tokens", spend.tokens_unknown, spend.runs)
    return f"{tokens}, {_known(fmt.dollars(spend.usd), 'USD', spend.usd_unknown, spend.runs)}"


def _known(text: str, unit: str, unknown: int, runs: int) -> str:
    """A sum, marked where some runs are unknown: then it is a lower bound."""
    if unknown == 0:
        return text
    return f"{unit} unknown" if unknown == runs else f"at least {text} ({unknown} unknown)"


def _spread(rows: Sequence[SpreadRow]) -> str:
    head = ["agent", "runs an arm", "spread of tokens (cv)", "runs to see 20%", "with a cautious cv"]
    known = [row for row in rows if row.spread]
    if not known:
        return ""
    body = [
        [
            row.agent,
            str(row.runs),
            _cv(row),
            str(row.needed.runs) if row.needed else fmt.NONE,
            str(row.cautious.runs) if row.cautious else fmt.NONE,
        ]
        for row in known
    ]
    why = (
        "Runs an arm, over all questions together, to see 20% more tokens with 80% power at 5%; "
        "a verdict needs 4. The cautious cv allows for its own uncertainty."
    )
    return f"{table(head, body)}\n\n{why}"


def _cv(row: SpreadRow) -> str:
    if row.spread is None or not row.spread.df:
        return "not known: 1 run a cell"
    return fmt.significant(row.spread.cv) if row.needed else "none seen"
