"""Runs that several results share: a copy is no second run, so it counts once.

A trial that ran twice has the same run ids twice, with other times: those are real repetitions and all count.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from tiltyard_specs.errors import DataError

if TYPE_CHECKING:
    from tiltyard_cli.report_sources import Source

_Record = dict[str, Any]
_Start = tuple[str, str, str]


def without_copies(found: "Sequence[Source]") -> "list[Source]":
    """The results without what an earlier one holds too, each with a note of how much that is.

    Args:
        found: The results, read record by record.

    Raises:
        DataError: Two tell different things of one start of a run: one of them was altered.
    """
    seen: dict[_Start, tuple[_Record, str]] = {}
    kept: list[Source] = []
    notes: list[str] = []
    for source in found:
        same = next((each for each in kept if _same(each, source)), None)
        if same is not None:
            notes.append(f"{source.name} holds the runs of {same.name} once more: they are counted once")
            continue
        copies = _copies(source, seen)
        if copies:
            notes.append(f"{source.name}: dropped {len(copies)} identical records that stand before it too")
        rest = _rest(source, copies, kept) if copies else source
        if rest.records or not copies:
            kept.append(rest)
        seen |= {start: (record, source.name) for record in _records(rest) if (start := _start(record))}
    return [replace(kept[0], notes=(*kept[0].notes, *notes)), *kept[1:]]


def _records(source: "Source") -> Iterable[_Record]:
    return cast("Iterable[_Record]", source.records)


def _same(one: "Source", other: "Source") -> bool:
    return bool(one.records) and one.records == other.records


def _start(record: _Record) -> _Start | None:
    """What tells one start of a run from all others; rows of other tools have no such thing."""
    moment = record.get("started_at")
    return (record["run_id"], moment, record.get("node") or "") if moment else None


def _copies(source: "Source", seen: Mapping[_Start, tuple[_Record, str]]) -> set[str]:
    copies: set[str] = set()
    for record in _records(source):
        start = _start(record)
        if start is None or start not in seen:
            continue
        before, name = seen[start]
        if before != record:
            raise DataError(
                f"{name} and {source.name} differ on run {record['run_id']}, which started once: "
                "leave the one out that you do not trust"
            )
        copies.add(record["run_id"])
    return copies


def _rest(source: "Source", copies: set[str], earlier: "Sequence[Source]") -> "Source":
    """The result without copies; what it plans does not count what an earlier one plans."""
    receipt = source.receipt
    if receipt is not None:
        before = {run for each in earlier if each.receipt for run in each.receipt.get("order") or ()}
        order = [run for run in receipt.get("order") or () if run not in before]
        planned = len(order) if receipt.get("order") else (receipt.get("runs_expected") or 0) - len(copies)
        receipt = receipt | {"order": order, "runs_expected": planned}
    return replace(
        source,
        records=[record for record in _records(source) if record["run_id"] not in copies],
        attempts=[attempt for attempt in source.attempts if attempt["run_id"] not in copies],
        receipt=receipt,
    )
