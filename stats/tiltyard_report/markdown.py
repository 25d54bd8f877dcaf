"""The report as Markdown that also reads well as plain text. Layout only: numbers and sentences are given."""

from collections.abc import Iterable, Sequence

from tiltyard_report import _claims
from tiltyard_report import _format as fmt
from tiltyard_report._arm_tables import agent_sections, by_question
from tiltyard_report._delta_tables import computed, delta_sections
from tiltyard_report._group_tables import group_sections
from tiltyard_report._quality_tables import quality_sections
from tiltyard_report._reported import reported_table
from tiltyard_report._spending import spending
from tiltyard_report._table import code, escape, table
from tiltyard_report.audit_model import AuditCount, AuditRow
from tiltyard_report.model import OutcomeRow, Report, SpreadRow
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats import SampleSize
from tiltyard_stats.decide import MINIMUM_RUNS


def render_markdown(report: Report) -> str:
    """Lay a report out as Markdown."""
    parts = [_title(report), f"**{escape(report.headline)}**"]
    parts += [f"> {escape(alert)}" for alert in report.alerts]
    parts.append(_section("What changed most", _list(report.changes)))
    if report.counted:
        sections = (
            *agent_sections(report),
            *quality_sections(report),
            *delta_sections(report),
            *by_question(report),
            *group_sections(report),
        )
        parts += [_section(title, body) for title, body in sections]
    parts.append(_section("Question audit", _audit(report.audit)))
    if report.agents:
        parts.append(_section("How the runs ended", _outcomes(report)))
        parts.append(_section("What agents claimed of their checks", _claims.section(report.claims)))
        parts.append(_section("Usage as reported and as metered", reported_table(report.reported)))
        parts.append(_section("Spread and runs needed", _spread(report.spread)))
    parts.append(_section("Notes", _list(report.notes)))
    parts.append(_section("Do not claim", _list(report.do_not_claim)))
    if report.counted:
        parts.append(_section("How this was computed", _list(report.methods)))
        parts.append(_section("How each comparison was computed", computed(report)))
        parts.append(f"*{report.caution}*")
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(report: Report) -> str:
    name = escape(" ".join((report.name or "Trial").split()))
    marks = ["PARTIAL"] * (report.state == "partial") + ["UNHEALTHY"] * (not report.healthy)
    return f"# {', '.join(marks)}: {name}" if marks else f"# {name}"


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def _audit(rows: Sequence[AuditRow]) -> str:
    if not rows:
        return ""
    cells = [[row.question, _audited(row.oracle), _audited(row.nop)] for row in rows]
    findings = _list(finding for row in rows for finding in row.findings)
    why = (
        "The oracle applies the reference solution and should always pass; nop does nothing and should "
        "never pass. Neither competes."
    )
    return "\n\n".join(
        part for part in (table(["question", "oracle passed", "nop passed"], cells), findings, why) if part
    )


def _audited(count: AuditCount | None) -> str:
    if count is None:
        return fmt.NONE
    score = f"{count.passed}/{count.n}" if count.n else fmt.NONE
    return f"{score} ({count.lost} lost)" if count.lost else score


def _outcomes(report: Report) -> str:
    present = {item.outcome for row in report.outcomes for item in row.counts}
    shown = [item for item in Outcome if item in present or item in {Outcome.PASSED, Outcome.FAILED}]
    excluded = [item.value for item in shown if not item.counted]
    rows = [[row.arm, *_counts(row, shown)] for row in report.outcomes]
    reasons = "\n".join(line for row in report.outcomes for line in _reasons(row))
    parts = [table(["arm", *shown], rows)]
    if excluded:
        parts.append(f"Excluded, neither a pass nor a failure: {', '.join(excluded)}.")
    if reasons:
        parts += ["Most frequent reasons:", reasons]
    return "\n\n".join([*parts, "Spend:", spending(report)])


def _counts(row: OutcomeRow, shown: Sequence[Outcome]) -> list[str]:
    counts = {item.outcome: item.count for item in row.counts}
    return [str(counts.get(outcome, 0)) for outcome in shown]


def _reasons(row: OutcomeRow) -> Iterable[str]:
    for reason in row.reasons:
        yield f"- {escape(row.arm)}, {reason.outcome}, {reason.count}x: {code(reason.reason)}"


def _spread(rows: Sequence[SpreadRow]) -> str:
    head = ["agent", "runs", "cv", "runs to see 20%", "with a cautious cv"]
    known = [row for row in rows if row.spread]
    if not known:
        return ""
    body = [
        [row.agent, str(row.runs), _cv(row), _runs_needed(row.needed), _runs_needed(row.cautious)]
        for row in known
    ]
    why = (
        "runs: with known tokens, in the arm that has the fewest; cv: their spread from run to run.",
        "runs to see 20%: in each arm, over all questions, to find 20% more tokens with 80% power at 5%.",
        "with a cautious cv: the same, allowing for the cv's own uncertainty.",
    )
    unsure = [
        f"{row.agent}: without the {fmt.plural(row.unknown, 'run')} whose tokens are not fully known; "
        "with them the spread may be wider, and more runs needed."
        for row in known
        if row.unknown
    ]
    return f"{table(head, body)}\n\n{_list([*why, *unsure])}"


def _runs_needed(size: SampleSize | None) -> str:
    """Never fewer than a verdict needs."""
    if size is None:
        return fmt.NONE
    return str(size.runs) if size.runs > MINIMUM_RUNS else f"{MINIMUM_RUNS} (the least for a verdict)"


def _cv(row: SpreadRow) -> str:
    if row.spread is None or not row.spread.df:
        return "not known: 1 run a cell"
    return fmt.significant(row.spread.cv) if row.needed else "none seen"
