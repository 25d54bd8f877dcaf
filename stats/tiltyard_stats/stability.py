"""How steady an arm is: trials in which everything passes, cases that always agree, cases that flake."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Interval
from tiltyard_stats.proportion import wilson


@dataclass(frozen=True, slots=True)
class CaseCounts:
    """How the cases came out over their runs."""

    always: int
    """Cases that passed in each of their runs."""
    never: int
    """Cases that passed in none."""
    flaky: int
    """Cases that passed in some."""
    flaky_cases: tuple[int, ...]
    """Positions of the flaky cases."""


def case_counts(passes: ArrayLike, runs: ArrayLike) -> CaseCounts:
    """Cases that always pass, never pass, or flake.

    Parameters
    ----------
    passes : array of int, shape (cases,)
        Passes of each case.
    runs : int or array of int, shape (cases,)
        Runs of each case.

    Returns
    -------
    CaseCounts
        The three counts add up to the cases. A case of one run can never be seen to flake.

    Raises
    ------
    ValueError
        When there is no case, a case has no run, or more passes than runs.

    Examples
    --------
    >>> case_counts([2, 0, 1, 2], 2)
    CaseCounts(always=2, never=1, flaky=1, flaky_cases=(2,))
    """
    passed, total = check.cases("passes", passes, "runs", runs)
    flaky = np.flatnonzero((passed > 0) & (passed < total))
    return CaseCounts(
        always=int((passed == total).sum()),
        never=int((passed == 0).sum()),
        flaky=len(flaky),
        flaky_cases=tuple(flaky.tolist()),
    )


def reliability(
    outcomes: ArrayLike, *, confidence: float = 0.95, claim: str = "trials like these"
) -> Interval:
    """Share of complete trials in which each case passed, with Wilson's interval over trials.

    Parameters
    ----------
    outcomes : array of 0 and 1, shape (trials, cases)
        One row per complete trial. A trial that crashed failed each of its cases; one lost to the
        infrastructure is left out and counted by the caller.
    confidence : float
        Nominal coverage.
    claim : str
        What the trials stand for; carried into the result.

    Returns
    -------
    Interval
        With `n` the number of trials.

    Raises
    ------
    ValueError
        When there is no trial or no case, or an outcome is not 0 or 1.

    Examples
    --------
    >>> reliability([[1, 1], [1, 0], [1, 1]]).estimate
    0.6666666666666666
    """
    table = check.outcomes("outcomes", outcomes)
    return wilson(int(table.all(axis=1).sum()), len(table), confidence=confidence, claim=claim)


def consistency(
    passes: ArrayLike, runs: ArrayLike, *, confidence: float = 0.95, claim: str = "cases like these"
) -> Interval:
    """Share of cases whose runs all agree, passed or failed, with Wilson's interval over cases.

    Parameters
    ----------
    passes : array of int, shape (cases,)
        Passes of each case.
    runs : int or array of int, shape (cases,)
        Runs of each case. A case of one run agrees with itself and says nothing: it is left out.
    confidence : float
        Nominal coverage.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    Interval
        With `n` the cases of two runs or more. Warns `short-cases` when others were left out.

    Raises
    ------
    ValueError
        When no case has two runs, a case has no run, or more passes than runs.

    Examples
    --------
    >>> consistency([2, 0, 1, 2], 2).estimate
    0.75
    """
    passed, total = check.cases("passes", passes, "runs", runs)
    several = total > 1
    if not several.any():
        raise ValueError(f"runs ({runs!r}) must be at least 2 in some case: one run cannot disagree.")
    agree = several & ((passed == 0) | (passed == total))
    result = wilson(int(agree.sum()), int(several.sum()), confidence=confidence, claim=claim)
    return result if several.all() else result.with_warnings("short-cases")
