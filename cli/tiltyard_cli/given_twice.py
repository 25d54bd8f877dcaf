"""Runs that several results share: a copy is no second run, so it counts once.

A trial that ran twice has the same run ids twice, with other times: those are real repetitions and all count.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from tiltyard_specs.errors import DataError

if TYPE_CHECKING:
    from tiltyard_cli.report_sources import Source

_Record = dict[str, Any]


def without_copies(found: "Sequence[Source]") -> "list[Source]":
    """The results without what an earlier one holds too, with a note of how much that is.

    What is left of a result that shares starts of runs with an earlier one is more of the same trial, and
    goes to that one.

    Args:
        found: The results, read record by record.

    Raises:
        DataError: Two tell different things of one start of a run: one of them was altered.
    """
    kept: list[Source] = []
    notes: list[str] = []
    problems: list[str] = []
    for source in found:
        place, copies = next(
            ((at, same) for at, each in enumerate(kept) if (same := _copies(each, source))), (None, 0)
        )
        if place is None:
            kept.append(source)
            continue
        name = kept[place].name
        if copies == len(_records(source)):
            notes.append(f"{source.name} holds the runs of {name} once more: they are counted once")
        else:
            notes.append(f"{source.name}: dropped {copies} identical records, which {name} holds too")
        problems += [each for each in source.problems if each not in kept[place].problems]
        kept[place] = _joined(kept[place], source)
    first = kept[0]
    return [
        replace(first, notes=(*first.notes, *notes), problems=(*first.problems, *problems)),
        *kept[1:],
    ]


def _records(source: "Source") -> Sequence[_Record]:
    return cast("Sequence[_Record]", source.records)


def _copies(one: "Source", other: "Source") -> int:
    """How many records of the second the first holds too."""
    if one.records == other.records:
        return len(_records(one))
    known = {record["run_id"]: record for record in _records(one)}
    shared = [(known[record["run_id"]], record) for record in _records(other) if record["run_id"] in known]
    # Rows of other tools tell no time: of those alike that may be another run.
    started = [pair for pair in shared if _start(pair[0]) and _start(pair[0]) == _start(pair[1])]
    if not started:
        return 0
    differing = next((pair[1] for pair in shared if pair[0] != pair[1]), None)
    if differing is not None:
        raise DataError(
            f"{one.name} and {other.name} differ on run {differing['run_id']}: "
            "leave the one out that you do not trust"
        )
    return len(shared)


def _start(record: _Record) -> tuple[str, str] | None:
    """What tells one start of a run from all others."""
    moment = record.get("started_at")
    return (moment, record.get("node") or "") if moment else None


def _joined(one: "Source", other: "Source") -> "Source":
    """The first with what only the second holds. What both plan is planned once."""
    known = {record["run_id"] for record in _records(one)}
    tried = {(attempt["run_id"], attempt["attempt"]) for attempt in one.attempts}
    return replace(
        one,
        records=[*_records(one), *(record for record in _records(other) if record["run_id"] not in known)],
        attempts=[
            *one.attempts,
            *(each for each in other.attempts if (each["run_id"], each["attempt"]) not in tried),
        ],
        receipt=_planned(one.receipt, other.receipt),
        # The pages of a result are made from one place.
        result=one.result if {record["run_id"] for record in _records(other)} <= known else None,
    )


def _planned(one: _Record | None, other: _Record | None) -> _Record | None:
    if one is None or other is None:
        return one or other
    order = list(dict.fromkeys([*(one.get("order") or ()), *(other.get("order") or ())]))
    larger = max(one, other, key=lambda each: each.get("runs_expected") or len(each.get("order") or ()))
    planned = max(len(order), larger.get("runs_expected") or 0)
    return larger | {"order": order, "runs_expected": planned}
