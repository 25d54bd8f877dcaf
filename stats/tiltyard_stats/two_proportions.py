"""Two independent pass rates: the interval of their difference, and tests for a drop."""

from math import nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _hypergeometric as hypergeometric
from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, Interval, Intervals, TestResult
from tiltyard_stats._special import normal_quantile, normal_two_sided
from tiltyard_stats.proportion import wilson_bounds

Limits = tuple[FloatArray, FloatArray, FloatArray]
FisherMethod = Literal["fisher-exact", "fisher-mid-p"]


def newcombe_diff(
    successes_a: int,
    n_a: int,
    successes_b: int,
    n_b: int,
    *,
    confidence: float = 0.95,
    claim: str = "these runs",
) -> Interval:
    """Newcombe's interval of a difference of two pass rates, a minus b.

    Parameters
    ----------
    successes_a, n_a : int
        Passes and runs of the one side.
    successes_b, n_b : int
        Passes and runs of the other.
    confidence : float
        Nominal coverage.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    Interval
        Inside [-1, 1]; it has a width also when both rates are 0 or 1.

    Raises
    ------
    ValueError
        When a side has no runs or more passes than runs.

    Notes
    -----
    With the Wilson bounds l and u of each rate, the bounds are d - sqrt((a - l_a)² + (u_b - b)²) and
    d + sqrt((u_a - a)² + (b - l_b)²), method 10 of [1]_.

    References
    ----------
    .. [1] Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions:
           comparison of eleven methods. Stat. Med. 17.

    Examples
    --------
    >>> interval = newcombe_diff(40, 50, 30, 50)
    >>> print(f"{interval.estimate:.3f} ({interval.low:.3f} to {interval.high:.3f})")
    0.200 (0.020 to 0.364)
    """
    successes_a, n_a = check.passes_of("successes_a", successes_a, "n_a", n_a)
    successes_b, n_b = check.passes_of("successes_b", successes_b, "n_b", n_b)
    z = normal_quantile(0.5 + check.proportion("confidence", confidence) / 2)
    rates = np.array([successes_a / n_a, successes_b / n_b])
    low, high = wilson_bounds(rates, np.array([n_a, n_b]), z)
    lower, upper = mover((rates[0], low[0], high[0]), (rates[1], low[1], high[1]))
    estimate = float(rates[0] - rates[1])
    return Interval(estimate, float(lower), float(upper), confidence, "newcombe", n_a + n_b, claim)


def newcombe_diffs(
    successes_a: ArrayLike,
    n_a: ArrayLike,
    successes_b: ArrayLike,
    n_b: ArrayLike,
    *,
    confidence: float = 0.95,
    claim: str = "these runs",
) -> Intervals:
    """Newcombe's interval for each of many differences, see `newcombe_diff`.

    Parameters
    ----------
    successes_a, n_a, successes_b, n_b : arrays of int, shape (cells,)
        Passes and runs of the two sides.
    confidence, claim
        As for `newcombe_diff`.

    Returns
    -------
    Intervals
        One per cell.

    Examples
    --------
    >>> newcombe_diffs([40, 3], [50, 4], [30, 4], [50, 4]).estimate.round(3).tolist()
    [0.2, -0.25]
    """
    a, runs_a = check.cases("successes_a", successes_a, "n_a", n_a)
    b, runs_b = check.cases("successes_b", successes_b, "n_b", n_b)
    z = normal_quantile(0.5 + check.proportion("confidence", confidence) / 2)
    sides = [(k / n, *wilson_bounds(k / n, n, z)) for k, n in ((a, runs_a), (b, runs_b))]
    low, high = mover(sides[0], sides[1])
    unknown = np.full(a.shape, np.nan)
    return Intervals(
        estimate=sides[0][0] - sides[1][0],
        low=low,
        high=high,
        confidence=confidence,
        method="newcombe",
        n=runs_a + runs_b,
        claim=claim,
        warnings=((),) * len(a),
        standard_error=unknown,
        df=unknown,
    )


def mover(a: Limits, b: Limits) -> tuple[FloatArray, FloatArray]:
    """Bounds of a - b from (estimate, low, high) of each: the method of variance estimates recovery."""
    low = a[0] - b[0] - np.hypot(a[0] - a[1], b[2] - b[0])
    return np.asarray(low), np.asarray(a[0] - b[0] + np.hypot(a[2] - a[0], b[0] - b[1]))


def fisher_drop(
    old_successes: int,
    old_n: int,
    new_successes: int,
    new_n: int,
    *,
    method: FisherMethod = "fisher-exact",
    claim: str = "these runs",
) -> TestResult:
    """Fisher's exact test of a drop in the pass rate, one-sided.

    Parameters
    ----------
    old_successes, old_n : int
        Passes and runs before.
    new_successes, new_n : int
        Passes and runs after.
    method : {"fisher-exact", "fisher-mid-p"}
        "fisher-mid-p" counts half the probability of the outcome itself.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    TestResult
        `statistic` is the difference new minus old; `pvalue` the probability of as few new passes or fewer,
        given all margins.

    Raises
    ------
    ValueError
        When a side has no runs or more passes than runs, or the method is unknown.

    Notes
    -----
    Given the margins, the new passes are hypergeometric under equal rates [1]_. The test is conservative: at
    a nominal 10% its true size is 3.5% for 4 runs a side, 3.8% for 8 and 5.9% for 20; with mid-p [2]_ it is
    at most 10.5%. `boschloo_drop` finds more without exceeding its level.

    References
    ----------
    .. [1] Fisher, R. A. (1935). The logic of inductive inference. JRSS 98.
    .. [2] Agresti, A. (2013). Categorical data analysis, 3rd ed., 3.5.

    Examples
    --------
    >>> round(fisher_drop(4, 4, 0, 4).pvalue, 4)
    0.0143
    """
    old_successes, old_n = check.passes_of("old_successes", old_successes, "old_n", old_n)
    new_successes, new_n = check.passes_of("new_successes", new_successes, "new_n", new_n)
    check.choice("method", method, ("fisher-exact", "fisher-mid-p"))
    table = old_n + new_n, old_successes + new_successes, new_n
    pvalue = hypergeometric.cdf(new_successes, *table)
    if method == "fisher-mid-p":
        pvalue -= hypergeometric.pmf(new_successes, *table) / 2
    return TestResult(
        statistic=new_successes / new_n - old_successes / old_n,
        pvalue=pvalue,
        method=method,
        n=old_n + new_n,
        claim=claim,
        alternative="less",
    )


def two_proportion_z(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, claim: str = "these runs"
) -> TestResult:
    """The pooled two-proportion z test, two-sided: kept to reproduce reports that use it.

    Parameters
    ----------
    successes_a, n_a : int
        Passes and attempts of the one side.
    successes_b, n_b : int
        Passes and attempts of the other.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    TestResult
        `statistic` is z. It always warns `attempts-not-independent`: several attempts on one case are not
        independent draws. When all or none passed, z is 0 and p is 1 with the warning `degenerate`.

    Raises
    ------
    ValueError
        When a side has no attempts or more passes than attempts.

    Notes
    -----
    z = (a - b) / sqrt(p (1-p) (1/n_a + 1/n_b)) with p the pooled rate [1]_. On repeated attempts at the same
    cases its size is 0 to 1% in place of 5% and it misses most differences; use `stratified_test` there.

    References
    ----------
    .. [1] Fleiss, J. L., Levin, B. & Paik, M. C. (2003). Statistical methods for rates and proportions, 3.2.

    Examples
    --------
    >>> test = two_proportion_z(40, 50, 30, 50)
    >>> print(f"z = {test.statistic:.2f}, p = {test.pvalue:.3f}")
    z = 2.18, p = 0.029
    """
    successes_a, n_a = check.passes_of("successes_a", successes_a, "n_a", n_a)
    successes_b, n_b = check.passes_of("successes_b", successes_b, "n_b", n_b)
    pooled = (successes_a + successes_b) / (n_a + n_b)
    degenerate = successes_a + successes_b in {0, n_a + n_b}
    error = nan if degenerate else sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    z = 0.0 if degenerate else (successes_a / n_a - successes_b / n_b) / error
    codes = ("attempts-not-independent", "degenerate") if degenerate else ("attempts-not-independent",)
    pvalue = 1.0 if degenerate else normal_two_sided(z)
    return TestResult(z, pvalue, "pooled-z", n_a + n_b, claim, warnings=codes)
