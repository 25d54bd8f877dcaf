"""Puts what is read into one store, part by part: no more than a part is held twice."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltyard_report._accounts import Difference
from tiltyard_report._run import Run
from tiltyard_report._runs import FLAGS, LABELS, NUMBERS, WHOLES, Column, Store
from tiltyard_stats._result import BoolArray, IntArray

_TYPES: dict[str, type] = {
    **dict.fromkeys(NUMBERS, np.float64),
    **dict.fromkeys(WHOLES, np.int64),
    **dict.fromkeys(FLAGS, np.bool_),
    **dict.fromkeys(LABELS, np.int32),
}
_OBJECTS = ("images", "versions")
"""Labels that are objects: what is not the same object counts as another."""


class Gatherer:
    """Collects columns and their labels."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Column]] = {name: [] for name in _TYPES}
        self._known: dict[str, dict[Hashable, int]] = {name: {} for name in LABELS}
        self._labels: dict[str, list[Any]] = {name: [] for name in LABELS}
        self._words: dict[str, int] = {}

    def code(self, name: str, key: Hashable, make: Callable[[], Any] | None = None) -> int:
        """The number of the label with a key, which is the label itself unless `make` says what it is."""
        known = self._known[name]
        found = known.get(key)
        if found is None:
            self._labels[name].append(make() if make else key)
            found = known[key] = len(known)
        return found

    def having(self, name: str, codes: Column, wanted: Callable[[Any], bool]) -> BoolArray:
        """Where the label is one that is wanted."""
        answers: BoolArray = np.array([wanted(label) for label in self._labels[name]], dtype=bool)
        return answers[codes] if len(codes) else np.zeros(0, dtype=bool)

    def labels(self, name: str) -> Sequence[Any]:
        """The labels so far, by number."""
        return self._labels[name]

    def words(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of some words, of which lists are made."""
        return np.array([self._words.setdefault(text, len(self._words)) for text in texts], dtype=np.int32)

    def lists(self, name: str, words: NDArray[np.int32], ends: IntArray) -> IntArray:
        """The numbers of lists of words: each list goes from one end to the next."""
        raw, size = words.tobytes(), words.itemsize
        told = partial(_told, list(self._words))
        lists = (raw[size * start : size * end] for start, end in pairwise(ends.tolist()))
        return np.array([self.code(name, each, partial(told, each)) for each in lists], dtype=np.int64)

    def add(self, columns: Mapping[str, Column]) -> None:
        """Some more runs: every column of them."""
        for name, parts in self._parts.items():
            parts.append(_slim(np.asarray(columns[name], dtype=_TYPES[name])))

    def add_runs(self, runs: Sequence[Run], source: int = 0) -> None:
        """Runs that were read one by one."""
        flat = [_flat(run) for run in runs]
        columns: dict[str, Column] = {
            name: np.array([each[name] for each in flat], dtype=_TYPES[name])
            for name in (*NUMBERS, *WHOLES, *FLAGS)
        }
        columns["source"] = np.full(len(runs), source)
        for name in LABELS:
            labels = [each[name] for each in flat]
            columns[name] = np.array([self._code_of(name, label) for label in labels], dtype=np.int32)
        self.add(columns)

    def _code_of(self, name: str, label: Any) -> int:
        return self.code(name, id(label), lambda: label) if name in _OBJECTS else self.code(name, label)

    def store(self) -> Store:
        """All that was added. A column is put together at a time, and its parts let go."""
        columns = {}
        for name in list(self._parts):
            parts = self._parts.pop(name)
            columns[name] = _joined(parts) if parts else np.zeros(0, dtype=_TYPES[name])
        return Store(
            size=len(columns["rep"]),
            values={name: columns[name] for name in (*NUMBERS, *WHOLES, *FLAGS)},
            codes={name: columns[name] for name in LABELS},
            labels=self._labels,
        )


def _slim(column: Column) -> Column:
    """Where all runs are alike, as in columns of which nothing is known, one value stands for all."""
    if len(column) < 2 or not np.array_equal(column[1:], column[:-1], equal_nan=column.dtype.kind == "f"):  # noqa: PLR2004 - a pair
        return column
    return np.broadcast_to(column[:1].copy(), column.shape)


def _joined(parts: Sequence[Column]) -> Column:
    if all(part.strides == (0,) for part in parts):
        firsts = np.concatenate([part[:1] for part in parts])
        if _slim(firsts).strides == (0,) or len(firsts) == 1:
            return np.broadcast_to(firsts[:1], sum(map(len, parts)))
    return np.concatenate(parts)


def _flat(run: Run) -> dict[str, Any]:
    accounts = run.accounts._asdict()
    difference = Difference(run.accounts.causes, run.accounts.explained)
    return {**run._asdict(), **run.spent._asdict(), **accounts, "difference": difference}


def _told(known: Sequence[str], words: bytes) -> tuple[str, ...]:
    return tuple(known[word] for word in np.frombuffer(words, dtype=np.int32))
