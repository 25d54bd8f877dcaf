"""A run that fares worse as a whole: whether the runs of an arm differ more than their cases explain."""

from dataclasses import dataclass
from itertools import combinations
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, IntArray, TestResult
from tiltyard_stats._special import binomial_at_least, chi2_above
from tiltyard_stats.fixed_cases import ENOUGH_FLAKY

# States times subsets of one step: about a second of work in all.
_MOST_ROWS = 400_000
_BITS = 10


@dataclass(frozen=True, slots=True)
class ShockTest(TestResult):
    """A check for run-wide shocks; `statistic` is Cochran's Q."""

    ratio: float = nan
    """Variance of the run means over the one that the cases explain; NaN when no case flakes."""
    flaky: int = 0
    """Cases that passed in some runs."""


def shock_test(run_passes: ArrayLike, *, claim: str = "these cases") -> ShockTest:
    """Check whether whole runs fared better or worse than the noise of single cases explains.

    Parameters
    ----------
    run_passes : array of 0 and 1, shape (runs, cases)
        One row per complete run, at least two.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    ShockTest
        `df` is runs - 1. When no case flakes the ratio is NaN, p is 1 and the warning is `zero-variance`.
        Warns `low-power` under ten flaky cases.

    Raises
    ------
    ValueError
        When there are fewer than two runs or no case, or an outcome is not 0 or 1.

    Notes
    -----
    The ratio is s² of the run means over sum p_i (1-p_i) R/(R-1) / n² for R runs of n cases; R-1 times it is
    exactly Cochran's Q [1]_, chi-squared with R-1 degrees of freedom. A shock (an outage, a changed model)
    makes runs of different cases depend on each other, so that intervals for fixed cases are too narrow. With
    few flaky cases the law is rough and the check finds little: on two runs, up to three flaky cases can
    never show a shock, and from four to ten its size goes from 2 to 12%. See `shock_test_exact`.

    References
    ----------
    .. [1] Cochran, W. G. (1950). The comparison of percentages in matched samples. Biometrika 37.

    Examples
    --------
    >>> test = shock_test([[1, 1, 1, 0, 1, 0], [1, 0, 1, 0, 1, 1], [0, 0, 1, 0, 0, 0]])
    >>> print(f"{test.ratio:.2f}x, p = {test.pvalue:.3f}")
    2.25x, p = 0.105
    """
    table = check.outcomes("run_passes", run_passes, minimum_rows=2)
    runs, cases = table.shape
    rates = table.mean(axis=0)
    flaky = int(((rates > 0) & (rates < 1)).sum())
    expected = float((rates * (1 - rates)).sum()) * runs / (runs - 1) / cases**2
    ratio = float(table.mean(axis=1).var(ddof=1)) / expected if flaky else nan
    statistic = (runs - 1) * ratio
    codes = ("low-power",) if flaky < ENOUGH_FLAKY else ()
    return ShockTest(
        statistic=statistic,
        pvalue=chi2_above(statistic, runs - 1) if flaky else 1.0,
        method="cochran-q",
        n=table.size,
        claim=claim,
        warnings=codes if flaky else ("zero-variance", *codes),
        df=float(runs - 1),
        ratio=ratio,
        flaky=flaky,
    )


def shock_test_exact(run_passes: ArrayLike, *, claim: str = "these cases") -> ShockTest:
    """The shock check by its exact permutation law, for few flaky cases.

    Parameters
    ----------
    run_passes : array of 0 and 1, shape (runs, cases)
        One row per complete run, at least two. For two runs the cases may be any number; for more runs the
        flaky cases must be few, about 20 for up to six runs.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    ShockTest
        With `ratio` and `statistic` as in `shock_test`; `pvalue` is the probability of run totals as uneven
        as these or more, when each case could have passed in any of the runs.

    Raises
    ------
    ValueError
        As for `shock_test`, and when the law would be too long to list.

    Notes
    -----
    Given how often each case passed, each choice of the runs in which it did is equally probable [1]_; cases
    that do not flake drop out. The law of the run totals is built case by case, up to the order of the runs
    and a common shift, which leave their variance alone.

    References
    ----------
    .. [1] Patil, K. D. (1975). Cochran's Q test: exact distribution. JASA 70.

    Examples
    --------
    >>> shock_test_exact([[1] * 8 + [1, 0], [0] * 8 + [1, 0]]).pvalue
    0.0078125
    """
    test = shock_test(run_passes, claim=claim)
    table = np.asarray(run_passes, dtype=np.int64)
    wins = table.sum(axis=0)
    mixed = table[:, (wins > 0) & (wins < len(table))]
    return ShockTest(
        statistic=test.statistic,
        pvalue=_two_runs(mixed) if len(table) == 2 else _permutation(mixed),  # noqa: PLR2004 - a pair
        method="permutation",
        n=test.n,
        claim=claim,
        warnings=test.warnings,
        ratio=test.ratio,
        flaky=test.flaky,
    )


def _two_runs(mixed: IntArray) -> float:
    """For two runs each flaky case is a fair coin."""
    flaky = mixed.shape[1]
    more = int(mixed.sum(axis=1).max())
    return min(1.0, 2.0 * float(binomial_at_least(more, flaky, 0.5)))


def _permutation(mixed: IntArray) -> float:
    runs = len(mixed)
    states, chances = np.zeros((1, runs), dtype=np.int64), np.ones(1)
    for wins in np.sort(mixed.sum(axis=0)).tolist():
        states, chances = _one_more_case(states, chances, wins)
    observed = _unevenness(mixed.sum(axis=1)[np.newaxis])[0]
    return min(1.0, float(chances[_unevenness(states) >= observed].sum()))


def _one_more_case(states: IntArray, chances: FloatArray, wins: int) -> tuple[IntArray, FloatArray]:
    """Run totals, sorted and shifted to a least of 0, after a case that passed in `wins` of the runs."""
    runs = states.shape[1]
    chosen = np.array([[run in subset for run in range(runs)] for subset in combinations(range(runs), wins)])
    rows = len(states) * len(chosen)
    if rows > _MOST_ROWS or runs * _BITS > 62:  # noqa: PLR2004 - the bits of a whole number
        raise ValueError(
            f"run_passes ({runs} runs) has too many flaky cases for the exact law; use shock_test there."
        )
    grown = np.sort((states[:, np.newaxis] + chosen).reshape(rows, runs), axis=1)
    grown -= grown[:, :1]
    keys = (grown << (_BITS * np.arange(runs))).sum(axis=1)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.repeat(chances / len(chosen), len(chosen))
    chance = np.bincount(group.reshape(-1), weights=weights)
    return np.asarray(grown[first]), np.asarray(chance, dtype=np.float64)


def _unevenness(totals: IntArray) -> IntArray:
    """Runs² times the variance, in whole numbers."""
    return np.asarray(totals.shape[1] * (totals**2).sum(axis=1) - totals.sum(axis=1) ** 2)
