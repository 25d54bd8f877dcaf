"""What a set of trials spent and what succeeded, and the rule that too few successes block a ruling."""

from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray

MINIMUM_SUCCESSES = 5
"""Successes on a side under which the cost of one gets no claim."""
ROUNDING = 1e-14
"""Relative size of what is only a rounding error of equal values."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Trials of one arm with their spend per success."""

    costs: FloatArray
    successes: FloatArray
    rate: float
    """Spend per success; infinite without a success."""
    residuals: FloatArray
    """Deviation of each trial from that rate, in units of the mean cost."""
    error: float
    """Standard error of the log of the rate; NaN where it is not known."""
    codes: tuple[str, ...]
    """Why the error is not known."""

    @property
    def trials(self) -> int:
        """How many there are."""
        return len(self.costs)


def spending(costs_name: str, costs: ArrayLike, successes_name: str, successes: ArrayLike) -> Spending:
    """Checks trials and works out their spend per success."""
    spent = check.costs(costs_name, check.sample(costs_name, costs))
    won = check.counts(successes_name, check.sample(successes_name, successes)).astype(np.float64)
    check.same_length(costs_name, spent, successes_name, won)
    mean, total = float(spent.mean()), float(won.sum())
    rate = float(spent.sum()) / total if total else inf
    if not total or mean == 0:
        return Spending(spent, won, rate, np.full(len(spent), nan), nan, ("zero-mean",) if total else ())
    residuals = (spent - rate * won) / mean
    if len(spent) < 2:  # noqa: PLR2004 - one trial has no spread
        return Spending(spent, won, rate, residuals, nan, ("n<2",))
    error = float(residuals.std(ddof=1)) / sqrt(len(spent))
    known = error > ROUNDING
    return Spending(spent, won, rate, residuals, error if known else 0.0, () if known else ("zero-variance",))


def blocking(spent: Spending) -> tuple[str, ...]:
    """The code of the rule that blocks a claim; empty when there are enough successes."""
    total = spent.successes.sum()
    if total == 0:
        return ("no-successes",)
    return ("few-successes",) if total < MINIMUM_SUCCESSES else ()
