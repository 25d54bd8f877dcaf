"""Columns of Arrow as arrays, taken from its buffers.

Its own conversion loads pandas where that is installed: 50 MB and 0.2 s for nothing.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from tiltyard_stats._result import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {"double": "float64", "float": "float32", "halffloat": "float16"}
_WHOLE = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def numbers(column: "pa.Array[Any]") -> FloatArray:
    """The values of a column, flags as 0 and 1; NaN where there is none."""
    kind = str(column.type)
    if kind == "bool":
        values = _bits(column, 1).astype(np.float64)
    elif kind in _NAMES or kind in _WHOLE:
        values = _plain(column, _NAMES.get(kind, kind)).astype(np.float64)
    else:
        found = column.to_pylist()
        return np.array([np.nan if value is None else value for value in found], dtype=np.float64)
    if column.null_count:
        values[~_bits(column, 0)] = np.nan
    return values


def places(column: "pa.DictionaryArray[Any, Any]") -> IntArray:
    """Where in its dictionary each value stands; the place after the last one where there is none."""
    indices: Any = column.indices
    found = _plain(indices, str(indices.type)).astype(np.int64)
    if indices.null_count:
        found[~_bits(indices, 0)] = len(column.dictionary)
    return found


def ends(column: "pa.ListArray[Any]") -> IntArray:
    """Where in the values of all lists each begins, and the last one ends."""
    offsets: Any = column.offsets
    return _plain(offsets, str(offsets.type)).astype(np.int64)


def _plain(column: Any, kind: str) -> "np.ndarray[Any, Any]":
    buffer = column.buffers()[1]
    if not len(column) or buffer is None:
        return np.zeros(len(column), dtype=kind)
    values = np.frombuffer(buffer, dtype=kind, count=column.offset + len(column))
    return values[column.offset :]


def _bits(column: Any, which: int) -> BoolArray:
    """A buffer of bits, the least one of each byte first."""
    end = column.offset + len(column)
    buffer = np.frombuffer(column.buffers()[which], dtype=np.uint8, count=(end + 7) // 8)
    return np.unpackbits(buffer, count=end, bitorder="little")[column.offset :].astype(bool)
