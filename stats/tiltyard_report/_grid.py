"""The passes of one arm with one agent, by question and by repetition: what pass rates are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tiltyard_stats._result import IntArray

Rep = tuple[int, int]
"""The result that a repetition comes from, and its number."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Passes and runs of each question, and the repetitions that are complete."""

    questions: tuple[str, ...]
    """Those with a run, by name."""
    passes: IntArray
    runs: IntArray
    complete: IntArray
    """One row per repetition in which each question has a run; shape (repetitions, questions)."""

    @property
    def n(self) -> int:
        """Runs."""
        return int(self.runs.sum())

    @property
    def whole(self) -> bool:
        """Whether every repetition is complete."""
        return bool(self.questions) and self.complete.size == self.n


def laid_out(by_question: Mapping[str, Mapping[Rep, bool]]) -> Grid:
    """Lay out whether runs passed, by question and repetition."""
    names = tuple(sorted(by_question))
    cells = [by_question[name] for name in names]
    return Grid(
        questions=names,
        passes=np.array([sum(cell.values()) for cell in cells], dtype=np.int64),
        runs=np.array([len(cell) for cell in cells], dtype=np.int64),
        complete=_complete(cells),
    )


def _complete(cells: Sequence[Mapping[Rep, bool]]) -> IntArray:
    reps = sorted(set.intersection(*(set(cell) for cell in cells))) if cells else []
    rows = [[cell[rep] for cell in cells] for rep in reps]
    return np.array(rows, dtype=np.int64).reshape(len(reps), len(cells))
