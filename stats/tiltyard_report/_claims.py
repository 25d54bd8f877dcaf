"""What agents say of their own checks, held against the checks that decided; and what they say they lacked.

A claim is the agent's word. Its notes are worth reading where several runs say the same: they are the
cheapest account of what an arm lacks.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._run import Cell
from tiltyard_report._sample import Sample
from tiltyard_report._table import code, escape, table
from tiltyard_report.claims_model import ClaimNote, ClaimRow, Claims
from tiltyard_specs.claim_record import Claim
from tiltyard_specs.outcomes import Outcome

_REPEATED = 2
_SHOWN = 10
_LEGEND = (
    "false pass: the agent said passed and the check failed.",
    "false fail: the agent said failed or not-run and the check passed.",
    "no claim: no line VERIFICATION, or one that cannot be read; not checked: the run ended before a check.",
)


def claims(cells: Mapping[Cell, Sample]) -> Claims | None:
    """The claims of all runs that were asked for one; None when none was."""
    asked = {cell: runs.where(runs.having("claim", bool)) for cell, runs in cells.items()}
    rows = tuple(_row(agent, arm, runs) for (agent, arm), runs in asked.items() if len(runs))
    if not rows:
        return None
    found = [claim for runs in asked.values() for claim in runs.texts("claim")]
    return Claims(
        rows=rows,
        missing=_repeated(found, lambda claim: claim.missing),
        could_not_verify=_repeated(found, lambda claim: claim.could_not_verify),
    )


def section(found: Claims | None) -> str:
    """The body of the section; empty where no agent was asked."""
    if found is None:
        return ""
    head = ["agent", "arm", "asked", "agreed", "false pass", "false fail", "no claim", "not checked"]
    rows = table(head, [_cells(row) for row in found.rows], text_columns=2)
    notes = [*_notes("missing", found.missing), *_notes("could not verify", found.could_not_verify)]
    told = ["Repeated notes, self-reported: as the agents wrote them, checked by nobody.", "\n".join(notes)]
    return "\n\n".join([rows, "\n".join(f"- {line}" for line in _LEGEND), *(told if notes else [])])


def _row(agent: str, arm: str, runs: Sample) -> ClaimRow:
    ends = Counter(map(_end, runs.texts("claim"), runs.texts("outcome")))
    return ClaimRow(
        agent=agent,
        arm=arm,
        asked=len(runs),
        agreed=ends["agreed"],
        false_pass=ends["false_pass"],
        false_fail=ends["false_fail"],
        absent=ends["absent"],
        malformed=ends["malformed"],
        unchecked=ends["unchecked"],
    )


def _end(claim: Claim, outcome: Outcome) -> str:
    if claim.state != "stated":
        return claim.state
    if outcome not in {Outcome.PASSED, Outcome.FAILED}:
        return "unchecked"
    claimed, passed = claim.result == "passed", outcome is Outcome.PASSED
    if claimed == passed:
        return "agreed"
    return "false_pass" if claimed else "false_fail"


def _repeated(found: Iterable[Claim], notes: Callable[[Claim], Sequence[str]]) -> tuple[ClaimNote, ...]:
    """Notes that several runs make, the most frequent first; case, blanks and a full stop do not matter."""
    spellings: dict[str, Counter[str]] = {}
    for claim in found:
        texts = {_folded(text): " ".join(text.split()) for text in notes(claim) if text.strip()}
        for folded, text in texts.items():
            spellings.setdefault(folded, Counter())[text] += 1
    repeated = [(spelt.total(), spelt) for spelt in spellings.values() if spelt.total() >= _REPEATED]
    ranked = sorted((-count, min(spelt, key=lambda text: (-spelt[text], text))) for count, spelt in repeated)
    return tuple(ClaimNote(text=text, runs=-count) for count, text in ranked)


def _folded(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


def _cells(row: ClaimRow) -> list[str]:
    none = row.absent + row.malformed
    no_claim = f"{none} ({row.malformed} malformed)" if row.malformed else str(none)
    counts = [str(count) for count in (row.asked, row.agreed, row.false_pass, row.false_fail)]
    return [row.agent, row.arm, *counts, no_claim, str(row.unchecked)]


def _notes(name: str, found: Sequence[ClaimNote]) -> Iterable[str]:
    for note in found[:_SHOWN]:
        yield f"- {name}, {fmt.plural(note.runs, 'run')}: {code(note.text)}"
    if len(found) > _SHOWN:
        yield f"- {escape(name)}: {fmt.plural(len(found) - _SHOWN, 'more repeated note')}"
