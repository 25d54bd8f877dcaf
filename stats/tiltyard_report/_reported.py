"""What agents reported of their usage against what the meter saw, and why the two differ."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tiltyard_report import _format as fmt
from tiltyard_report._runs import Column, total
from tiltyard_report._sample import Sample
from tiltyard_report._table import escape, table
from tiltyard_report.reported_model import CauseRow, ReportedRow
from tiltyard_specs.difference_record import MEANINGS
from tiltyard_stats._result import BoolArray

_WORDS: dict[str, str] = {code: words for code, words in MEANINGS.items()}  # noqa: C416 - wider keys


def reported_row(agent: str, runs: Sample) -> ReportedRow | None:
    """Both accounts of an agent's metered runs; None where nothing is to be compared."""
    metered = runs.where(runs.column("metered_calls"))
    ours, theirs, both = _both(metered, "tokens")
    ours_usd, theirs_usd, priced = _both(metered, "usd")
    causes = _causes(metered)
    if not both.any() and not causes:
        return None
    unlike = both & (ours != theirs)
    explained = metered.having("difference", lambda difference: difference.explained)
    return ReportedRow(
        agent=agent,
        runs=len(metered),
        compared=int(both.sum()),
        agreed=int((both & ~unlike).sum()),
        unexplained=int((unlike & ~explained).sum()),
        reported_tokens=int(theirs[both].sum()),
        metered_tokens=int(ours[both].sum()),
        priced=int(priced.sum()),
        reported_usd=total(theirs_usd[priced]),
        metered_usd=total(ours_usd[priced]),
        causes=causes,
    )


def _both(runs: Sample, unit: str) -> tuple[Column, Column, BoolArray]:
    """What the meter says, what the agent says, and where both are known."""
    ours, theirs = runs.column(f"metered_{unit}"), runs.column(f"reported_{unit}")
    return ours, theirs, ~(np.isnan(ours) | np.isnan(theirs))


def _causes(metered: Sample) -> tuple[CauseRow, ...]:
    runs: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for (difference,), count in metered.counts("difference"):
        for code in {cause.code for cause in difference.causes}:
            runs[code] += count
        for cause in difference.causes:
            tokens[cause.code] += count * (cause.tokens or 0)
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
