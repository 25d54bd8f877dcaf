"""What agents reported of their usage against what the meter saw, and why the two differ."""

from collections import Counter
from collections.abc import Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._accounts import Accounts
from tiltyard_report._run import Run
from tiltyard_report._table import escape, table
from tiltyard_report.reported_model import CauseRow, ReportedRow
from tiltyard_specs.difference_record import MEANINGS

_WORDS: dict[str, str] = {code: words for code, words in MEANINGS.items()}  # noqa: C416 - wider keys


def reported_row(agent: str, runs: Sequence[Run]) -> ReportedRow | None:
    """Both accounts of an agent's metered runs; None where nothing is to be compared."""
    metered = [run.accounts for run in runs if run.accounts.metered_calls]
    both = [each for each in metered if None not in (each.metered_tokens, each.reported_tokens)]
    priced = [each for each in metered if None not in (each.metered_usd, each.reported_usd)]
    causes = _causes(metered)
    if not both and not causes:
        return None
    return ReportedRow(
        agent=agent,
        runs=len(metered),
        compared=len(both),
        agreed=sum(each.metered_tokens == each.reported_tokens for each in both),
        unexplained=sum(each.metered_tokens != each.reported_tokens and not each.explained for each in both),
        reported_tokens=sum(each.reported_tokens or 0 for each in both),
        metered_tokens=sum(each.metered_tokens or 0 for each in both),
        priced=len(priced),
        reported_usd=sum(each.reported_usd or 0.0 for each in priced),
        metered_usd=sum(each.metered_usd or 0.0 for each in priced),
        causes=causes,
    )


def _causes(accounts: Sequence[Accounts]) -> tuple[CauseRow, ...]:
    runs = Counter(code for each in accounts for code in {cause.code for cause in each.causes})
    tokens: Counter[str] = Counter()
    for cause in (cause for each in accounts for cause in each.causes):
        tokens[cause.code] += cause.tokens or 0
    ranked = sorted(runs, key=lambda code: (-tokens[code], -runs[code], code))
    return tuple(CauseRow(code, _WORDS.get(code, code), runs[code], tokens[code]) for code in ranked)


def reported_table(rows: Sequence[ReportedRow]) -> str:
    """One row for each agent, and the reasons below; empty when no agent reports anything else."""
    if all(row.compared == row.agreed and not row.causes for row in rows):
        return ""
    head = ["agent", "runs", "reported", "metered", "difference", "USD reported", "USD metered"]
    parts = [table(head, [_cells(row) for row in rows])]
    parts.append("\n".join(line for row in rows for line in _reasons(row)))
    return "\n\n".join(part for part in parts if part)


def _cells(row: ReportedRow) -> list[str]:
    runs = str(row.runs) if row.compared == row.runs else f"{row.compared} of {row.runs}"
    tokens = [fmt.NONE] * 3
    if row.compared:
        tokens = [
            f"{fmt.thousands(row.reported_tokens)}k",
            f"{fmt.thousands(row.metered_tokens)}k",
            _gap(row),
        ]
    usd = [fmt.dollars(row.reported_usd), fmt.dollars(row.metered_usd)] if row.priced else [fmt.NONE] * 2
    return [row.agent, runs, *tokens, *usd]


def _gap(row: ReportedRow) -> str:
    gap = row.metered_tokens - row.reported_tokens
    if not gap:
        return "none"
    share = f" ({100 * gap / row.metered_tokens:+.1f}%)" if row.metered_tokens else ""
    return f"{'+' if gap > 0 else '-'}{fmt.thousands(abs(gap))}k{share}"


def _reasons(row: ReportedRow) -> list[str]:
    lines = []
    for cause in row.causes:
        tokens = f", {fmt.thousands(cause.tokens)}k tokens" if cause.tokens else ""
        lines.append(
            f"- {escape(row.agent)}, {fmt.plural(cause.runs, 'run')}: {escape(cause.words)}{tokens}."
        )
    if row.unexplained and not any(cause.code == "unexplained" for cause in row.causes):
        lines.append(f"- {escape(row.agent)}, {fmt.plural(row.unexplained, 'run')}: no known reason.")
    return lines
