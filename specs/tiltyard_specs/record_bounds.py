"""Which values the numbers of a record may have: one that no run can have is damage, and not a result.

A single such number would move every mean of a report. The bounds hold for records and for tables of them.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from tiltyard_specs.record_table import COLUMNS, Column
from tiltyard_specs.scalars import shown

MOST: Final = 10**15
"""More tokens, dollars or seconds than any run has; whole numbers up to it are exact as floats."""
_CODE = 2**31
"""Exit statuses and such, which may be negative."""
_FROM_ONE = frozenset({"rep", "attempt"})
_CODES = frozenset({"exit_code", "verify_exit_code", "agent_error_status"})
_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "whole": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "flag": ("true or false", (bool,)),
}


def bounds_of(column: Column) -> tuple[int, int] | None:
    """The least and the largest value of a column of numbers; None for another."""
    if column.kind not in {"whole", "number"}:
        return None
    if column.name in _CODES:
        return -_CODE, _CODE
    if column.name == "score_recall":
        return 0, 1
    return int(column.name in _FROM_ONE), MOST


def out_of_bounds(record: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """What of a record, as run.json holds it, cannot be: each path with a sentence.

    Also what only looks like a number, such as "5" or true.
    """
    # Few parts hold numbers, and few of their keys are there: a million records cost 20 s of CPU.
    for path, columns in _PARTS:
        part: Any = record
        for name in path:
            part = part.get(name)
            if not part:
                break
        else:
            for key, value in part.items():
                column = columns.get(key)
                if column is None or value is None:
                    continue
                least, most = column[1]
                if type(value) in column[2] and least <= value <= most:
                    continue
                wrong = _wrong(column[0], bounds_of(column[0]), value)
                if wrong:
                    yield column[0].path, wrong
    moment = record.get("started_at")
    if moment and not _is_moment(moment):
        yield ("started_at",), f"expected a time such as 2026-01-31T12:00:00Z, got {shown(moment)}"


def _wrong(column: Column, bounds: tuple[int, int] | None, value: Any) -> str:
    words, types = _KINDS[column.kind]
    if not isinstance(value, types) or (isinstance(value, bool) and bounds is not None):
        return f"expected {words}, got {shown(value)}"
    number: Any = value
    if bounds is None or bounds[0] <= number <= bounds[1]:
        return ""
    return f"must be {range_words(bounds)}, got {number_words(number)}"


def range_words(bounds: tuple[int, int]) -> str:
    """Between which values, in words."""
    least, most = (str(each).replace(str(MOST), "10^15") for each in bounds)
    return f"from {least} to {most}"


def number_words(value: float) -> str:
    """A number as messages show it: Python refuses to print whole numbers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 100:  # noqa: PLR2004 - about 30 digits
        return f"a number of about {int(value.bit_length() * 0.30103) + 1} digits"
    return f"{value}"


def _is_moment(value: object) -> bool:
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        return False
    return True


_Checked = tuple[Column, tuple[int, int], tuple[type, ...]]


def _parts() -> tuple[tuple[tuple[str, ...], dict[str, _Checked]], ...]:
    """The numbers and flags of each part of a record, by its path and their keys."""
    parts: dict[tuple[str, ...], dict[str, _Checked]] = {}
    for column in COLUMNS:
        if column.kind in _KINDS:
            checked = (column, bounds_of(column) or (0, 1), _KINDS[column.kind][1])
            parts.setdefault(column.path[:-1], {})[column.path[-1]] = checked
    return tuple(parts.items())


_PARTS = _parts()
