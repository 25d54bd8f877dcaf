"""Observations of many cells in one array: a thousand questions cost no more than one of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Self, overload

import numpy as np

from tiltyard_stats._result import FloatArray, IntArray


class Cells(Sequence[FloatArray]):
    """Cells of any sizes, one after the other; it stands wherever a list of cells does.

    Parameters
    ----------
    flat : array of float, shape (observations,)
        Those of the first cell, then those of the second, and so on.
    n : array of int, shape (cells,)
        How many each has.
    """

    __slots__ = ("flat", "n", "starts")

    def __init__(self, flat: FloatArray, n: IntArray) -> None:
        self.flat, self.n = flat, n
        self.starts: IntArray = np.concatenate(([0], np.cumsum(n)[:-1])).astype(np.int64)

    @classmethod
    def of(cls, cells: Iterable[FloatArray]) -> Self:
        """Put cells together."""
        parts = list(cells)
        n = np.array([len(part) for part in parts], dtype=np.int64)
        return cls(np.concatenate(parts) if parts else np.zeros(0), n)

    def __len__(self) -> int:
        return len(self.n)

    @overload
    def __getitem__(self, index: int) -> FloatArray: ...
    @overload
    def __getitem__(self, index: slice) -> "Cells": ...
    def __getitem__(self, index: int | slice) -> "FloatArray | Cells":
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        start = self.starts[index]
        return self.flat[start : start + self.n[index]]

    def __iter__(self) -> Iterator[FloatArray]:
        return iter(np.split(self.flat, self.starts[1:]) if len(self) else ())

    @property
    def sums(self) -> FloatArray:
        """The sum of each cell."""
        return np.add.reduceat(self.flat, self.starts) if len(self) else np.zeros(0)

    @property
    def means(self) -> FloatArray:
        """The mean of each cell."""
        return np.asarray(self.sums / self.n, dtype=np.float64)

    def take(self, cells: IntArray) -> "Cells":
        """Some of the cells."""
        if len(cells) == len(self) and (cells == np.arange(len(self))).all():
            return self
        n = self.n[cells]
        ends = np.cumsum(n)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - n, n)
        return Cells(self.flat[np.repeat(self.starts[cells], n) + within], n)
