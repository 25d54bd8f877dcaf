"""Many runs, held by column: what takes a second row by row takes a few milliseconds this way."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from tiltyard_report._accounts import Accounts
from tiltyard_report._run import Run, Spent
from tiltyard_stats._result import BoolArray, FloatArray, IntArray

Column = NDArray[Any]
NUMBERS = (
    *("tokens", "usd", "turns", "seconds", "score", "tool_calls", "used_tool"),
    *("least_tokens", "least_usd", "most_tokens", "most_usd"),
    *("metered_tokens", "reported_tokens", "metered_usd", "reported_usd"),
)
"""NaN where they are not known; a flag that may be unknown is 0 or 1."""
WHOLES = ("rep", "position", "source", "open_calls")
FLAGS = ("counted", "passed", "metered", "verified", "metered_calls", "imputed")
LABELS = (
    *("question", "question_id", "arm", "agent", "outcome", "reason", "kind", "verify_exit", "model"),
    *("network", "images", "versions", "warnings", "claim", "capability", "effort", "tools", "started_at"),
    *("tags", "difference"),
)
"""Each different value is held once, and a run holds its number."""

_MOST = 2**62


@dataclass(frozen=True, slots=True)
class Store:
    """All runs that were read."""

    size: int
    values: Mapping[str, Column]
    """`NUMBERS`, `WHOLES` and `FLAGS` by name, one value a run."""
    codes: Mapping[str, Column]
    """`LABELS` by name: which of its labels each run has."""
    labels: Mapping[str, Sequence[Any]]
    _sorted: dict[str, tuple[IntArray, Column]] = field(default_factory=dict)

    def ranks(self, name: str) -> tuple[IntArray, Column]:
        """Of each label its place among all of that name, and the labels in order."""
        if name not in self._sorted:
            labels = self.labels[name]
            order = np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.int64)
            places = np.empty(len(labels), dtype=np.int64)
            places[order] = np.arange(len(labels))
            ordered = np.empty(len(labels), dtype=object)
            ordered[:] = [labels[at] for at in order.tolist()]
            self._sorted[name] = places, ordered
        return self._sorted[name]


class Runs(Sequence[Run]):
    """Some of the runs of a store, in any order. As a sequence it yields them row by row, which is slow.

    Args:
        store: All runs.
        at: Which of them.
        changed: Columns that are not as the store has them.
    """

    def __init__(self, store: Store, at: IntArray, changed: Mapping[str, Column] | None = None) -> None:
        self.store = store
        self.at = at
        self._changed = dict(changed or {})

    def __len__(self) -> int:
        return len(self.at)

    def __iter__(self) -> Iterator[Run]:
        return _rows(self)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Run | Self:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        return next(iter(self.take(np.array([range(len(self))[index]]))))

    def column(self, name: str) -> Column:
        """The values of a column, or the numbers of the labels."""
        if name in self._changed:
            return self._changed[name]
        source = self.store.values if name in self.store.values else self.store.codes
        column: Column = source[name][self.at]
        return column

    def labels(self, name: str) -> Sequence[Any]:
        """All labels of the store, which the numbers of a column stand for."""
        return self.store.labels[name]

    def texts(self, name: str) -> list[Any]:
        """The label of each run."""
        labels = self.labels(name)
        return [labels[code] for code in self.column(name).tolist()]

    def ranks(self, name: str) -> IntArray:
        """Of each run the place of its label in the order of all labels."""
        ranked: IntArray = self.store.ranks(name)[0][self.column(name)]
        return ranked

    def having(self, name: str, wanted: Callable[[Any], bool]) -> BoolArray:
        """Which runs have a label that is wanted."""
        answers = np.fromiter(map(wanted, self.labels(name)), dtype=bool, count=len(self.labels(name)))
        mask: BoolArray = answers[self.column(name)]
        return mask

    def where(self, mask: BoolArray) -> Self:
        """Those of a mask; all of them are the same object."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def take(self, places: IntArray) -> Self:
        """Those at some places."""
        changed = {name: column[places] for name, column in self._changed.items()}
        return type(self)(self.store, self.at[places], changed)

    def followed_by(self, *others: "Runs") -> Self:
        """These, then others of the same store, none of them changed."""
        return type(self)(self.store, np.concatenate([self.at, *(each.at for each in others)]))

    def changed(self, columns: Mapping[str, Column]) -> Self:
        """The same with other values in some columns."""
        return type(self)(self.store, self.at, {**self._changed, **columns})

    def counts(self, *names: str) -> list[tuple[tuple[Any, ...], int]]:
        """How many runs have each combination of labels, in the order in which they first occur."""
        numbers, first = self.first(*names)
        sizes = np.bincount(numbers, minlength=len(first))
        columns = [self.take(first).texts(name) for name in names]
        return list(zip(zip(*columns, strict=True), sizes.tolist(), strict=True))

    def first(self, *names: str) -> tuple[IntArray, IntArray]:
        """Of each run the number of its combination of labels, and the run in which each first occurs."""
        numbers, bound = self._together(names)
        if bound > max(1024, 4 * len(self)):
            numbers = np.unique(numbers, return_inverse=True)[1]
            bound = int(numbers.max(initial=-1)) + 1
        places = np.full(bound, len(self))
        places[numbers[::-1]] = np.arange(len(self))[::-1]
        order = np.argsort(places, kind="stable")[: int((places < len(self)).sum())]
        renumbered = np.zeros(bound, dtype=np.int64)
        renumbered[order] = np.arange(len(order))
        return renumbered[numbers], places[order]

    def distinct(self, name: str) -> list[Any]:
        """The labels that occur, in the order in which they first do."""
        return [labels[0] for labels, _ in self.counts(name)]

    def split(self, name: str) -> dict[Any, Self]:
        """The runs of each label that occurs, in the order in which it first does."""
        numbers, first = self.first(name)
        order = np.argsort(numbers, kind="stable")
        sizes = np.bincount(numbers, minlength=len(first))
        parts = np.split(order, np.cumsum(sizes)[:-1]) if len(first) else []
        return dict(zip(self.take(first).texts(name), map(self.take, parts), strict=True))

    def together(self, *names: str) -> IntArray:
        """One number for each combination of labels or whole numbers, in the order of the latter."""
        return self._together(names)[0]

    def _together(self, names: Sequence[str]) -> tuple[IntArray, int]:
        numbers, bound = np.zeros(len(self), dtype=np.int64), 1
        for name in names:
            codes, size = self._numbered(name)
            if bound * size > _MOST:
                numbers = np.unique(numbers, return_inverse=True)[1]
                bound = int(numbers.max(initial=0)) + 1
            numbers, bound = numbers * size + codes, bound * size
        return numbers, bound

    def _numbered(self, name: str) -> tuple[IntArray, int]:
        if name in self.store.labels:
            return self.column(name), max(1, len(self.labels(name)))
        values, codes = np.unique(self.column(name), return_inverse=True)
        return codes, max(1, len(values))


def known(values: FloatArray) -> FloatArray:
    """Those that are known."""
    return values[~np.isnan(values)]


def total(values: Column) -> float:
    """The sum, added in the order in which they stand."""
    return float(sum(values.tolist()))


def _rows(runs: Runs) -> Iterator[Run]:
    columns: dict[str, Sequence[Any]] = {name: runs.texts(name) for name in LABELS}
    columns |= {name: runs.column(name).tolist() for name in (*WHOLES, *FLAGS)}
    columns |= {name: [_or_none(value) for value in runs.column(name).tolist()] for name in NUMBERS}
    columns["tokens"] = [None if value is None else int(value) for value in columns["tokens"]]
    columns["used_tool"] = [None if value is None else bool(value) for value in columns["used_tool"]]
    columns["causes"] = [difference.causes for difference in columns["difference"]]
    columns["explained"] = [difference.explained for difference in columns["difference"]]
    columns["spent"] = _made(Spent, columns)
    columns["accounts"] = _made(Accounts, columns)
    return map(Run._make, zip(*(columns[name] for name in Run._fields), strict=True))


def _made(kind: type[Spent] | type[Accounts], columns: Mapping[str, Sequence[Any]]) -> list[Any]:
    return list(map(kind._make, zip(*(columns[name] for name in kind._fields), strict=True)))


def _or_none(value: float) -> float | None:
    return None if isnan(value) else value
