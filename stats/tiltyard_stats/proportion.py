"""Pass rates: an interval for one arm, and the exact test for a drop between two."""

from math import comb
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, Interval, Intervals, TestResult
from tiltyard_stats._special import log_binomial, normal_quantile

# Up to here the exact integers of Fisher's test are cheap; beyond, logarithms are exact enough.
_INTEGER_LIMIT = 2000


@overload
def wilson(successes: int, n: int, *, confidence: float = ..., claim: str = ...) -> Interval: ...
@overload
def wilson(successes: ArrayLike, n: ArrayLike, *, confidence: float = ..., claim: str = ...) -> Intervals: ...
def wilson(
    successes: ArrayLike, n: ArrayLike, *, confidence: float = 0.95, claim: str = "these questions"
) -> Interval | Intervals:
    """Wilson's score interval of a proportion.

    Parameters
    ----------
    successes : int or array of int, shape (m,)
        Passes.
    n : int or array of int, shape (m,)
        Runs, at least 1.
    confidence : float
        Nominal coverage.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    Interval or Intervals
        One interval, or one per element when an array is given.

    Raises
    ------
    ValueError
        When `n` is 0, `successes` exceeds `n`, or a count is not a whole number.

    Notes
    -----
    With z the normal quantile and p = k/n, the bounds are
    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n) [1]_. The lower bound is exactly 0 at k = 0 and the
    upper one exactly 1 at k = n. The interval has a width even there, which a normal approximation has not.

    Applied to attempts on fixed questions it is an outer bound: a sum of passes with different rates is
    never more dispersed than a binomial of the same mean [2]_.

    References
    ----------
    .. [1] Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA
           22.
    .. [2] Hoeffding, W. (1956). On the distribution of the number of successes in independent trials. AMS 27.

    Examples
    --------
    >>> interval = wilson(7, 8)
    >>> print(f"{interval.estimate:.3f} ({interval.low:.3f} to {interval.high:.3f})")
    0.875 (0.529 to 0.978)
    """
    k, total = check.trials("successes", successes, "n", n)
    z = normal_quantile(0.5 + check.proportion("confidence", confidence) / 2)
    low, high = _wilson_bounds(np.atleast_1d(k / total), np.atleast_1d(total), z)
    rows = Intervals(
        estimate=np.atleast_1d(k / total),
        low=low,
        high=high,
        confidence=confidence,
        method="wilson",
        n=np.atleast_1d(total),
        claim=claim,
        warnings=((),) * len(low),
        standard_error=np.full(len(low), np.nan),
        df=np.full(len(low), np.nan),
    )
    return rows[0] if k.ndim == 0 else rows


def _wilson_bounds(p: FloatArray, n: ArrayLike, z: float) -> tuple[FloatArray, FloatArray]:
    size = np.asarray(n, dtype=np.float64)
    centre = p + z**2 / (2 * size)
    half = z * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    scale = 1 + z**2 / size
    low = np.where(p == 0, 0.0, (centre - half) / scale)
    return low, np.where(p == 1, 1.0, (centre + half) / scale)


def fisher_drop(old_successes: int, old_n: int, new_successes: int, new_n: int) -> TestResult:
    """Fisher's exact test of a drop in the pass rate, one-sided.

    Parameters
    ----------
    old_successes, old_n : int
        Passes and runs before.
    new_successes, new_n : int
        Passes and runs after.

    Returns
    -------
    TestResult
        `statistic` is the difference new minus old; `pvalue` the probability of as few new passes or fewer,
        given all margins.

    Raises
    ------
    ValueError
        When a side has no runs or more passes than runs.

    Notes
    -----
    Given the margins, the new passes are hypergeometric under equal rates [1]_. The test is conservative: at
    a nominal 5% its true size is 1 to 4% for few runs.

    References
    ----------
    .. [1] Fisher, R. A. (1935). The logic of inductive inference. JRSS 98.

    Examples
    --------
    >>> round(fisher_drop(4, 4, 0, 4).pvalue, 4)
    0.0143
    """
    check.trials("old_successes", old_successes, "old_n", old_n)
    check.trials("new_successes", new_successes, "new_n", new_n)
    return TestResult(
        statistic=new_successes / new_n - old_successes / old_n,
        pvalue=_hypergeometric_cdf(new_successes, old_n + new_n, old_successes + new_successes, new_n),
        method="fisher-exact",
        n=old_n + new_n,
        claim="these runs",
        alternative="less",
    )


def _hypergeometric_cdf(x: int, population: int, marked: int, drawn: int) -> float:
    """P(X <= x) for X marked items among those drawn."""
    lowest = max(0, drawn - (population - marked))
    if population <= _INTEGER_LIMIT:
        ways = sum(comb(marked, i) * comb(population - marked, drawn - i) for i in range(lowest, x + 1))
        return ways / comb(population, drawn)
    i = np.arange(lowest, x + 1)
    logs = (
        log_binomial(marked, i)
        + log_binomial(population - marked, drawn - i)
        - log_binomial(population, drawn)
    )
    return min(1.0, float(np.exp(logs).sum()))
