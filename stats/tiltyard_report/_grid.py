"""The passes of one arm with one agent, by question and by repetition: what pass rates are made from."""

from dataclasses import dataclass

import numpy as np

from tiltyard_stats._result import BoolArray, IntArray


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


def laid_out(
    names: tuple[str, ...], questions: IntArray, reps: IntArray, passed: BoolArray, *, repetitions: int
) -> Grid:
    """Lay out whether runs passed.

    Args:
        names: The questions, by name.
        questions: Of each run its place among them.
        reps: Of each run its repetition, from 0 in their order; no run of a question has that of another.
        passed: Whether each run passed.
        repetitions: How many there are.
    """
    count = len(names)
    runs = np.bincount(questions, minlength=count)
    passes = np.bincount(questions, passed, minlength=count).astype(np.int64)
    full = np.bincount(reps, minlength=repetitions) == count
    row = np.cumsum(full) - 1
    kept = full[reps] if len(reps) else np.zeros(0, dtype=bool)
    complete = np.zeros((int(full.sum()), count), dtype=np.int64)
    complete[row[reps[kept]], questions[kept]] = passed[kept]
    return Grid(names, passes, runs, complete)
