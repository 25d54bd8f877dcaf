"""Means with Student intervals, of one sample or stratified over cells."""

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._moments import by_cell, by_row, pooled
from tiltyard_stats._result import FloatArray, Interval, Intervals
from tiltyard_stats._special import t_quantile

_UNBOUNDED = (-inf, inf)


def mean_interval(
    values: ArrayLike,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = _UNBOUNDED,
    claim: str = "these runs",
) -> Interval:
    """Student's t interval of a mean.

    Parameters
    ----------
    values : array of float, shape (n,)
        Observations of one cell.
    confidence : float
        Nominal coverage.
    bounds : pair of float
        The range of possible means; the interval is clipped to it (costs: 0 and infinity).
    claim : str
        What the observations stand for; carried into the result.

    Returns
    -------
    Interval
        With NaN bounds and a warning for one observation (`n<2`) or equal ones (`zero-variance`).

    Raises
    ------
    ValueError
        When there is no observation or one is not finite.

    Notes
    -----
    mean ± t sd/sqrt(n) with n-1 degrees of freedom [1]_. The normal quantile in its place covers 85% at n =
    4.

    References
    ----------
    .. [1] Student (1908). The probable error of a mean. Biometrika 6.

    Examples
    --------
    >>> interval = mean_interval([33, 33, 50, 73])
    >>> print(f"{interval.estimate} ({interval.low:.1f} to {interval.high:.1f})")
    47.25 (17.1 to 77.4)
    """
    return mean_intervals(
        check.sample("values", values)[np.newaxis], confidence=confidence, bounds=bounds, claim=claim
    )[0]


def mean_intervals(
    values: ArrayLike,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = _UNBOUNDED,
    claim: str = "these runs",
) -> Intervals:
    """Student's t intervals of many cells of equal size.

    Parameters
    ----------
    values : array of float, shape (cells, n)
        Observations of a cell along the last axis.
    confidence, bounds, claim
        As for `mean_interval`.

    Returns
    -------
    Intervals
        One per cell.

    Examples
    --------
    >>> mean_intervals([[1.0, 3.0], [5.0, 5.0]]).warnings
    ((), ('zero-variance',))
    """
    moments = by_row(check.samples("values", values))
    check.proportion("confidence", confidence)
    df = np.asarray(moments.n - 1, dtype=np.float64)
    error = np.sqrt(moments.variance / moments.n)
    low, high = _t_bounds(moments.mean, error, df, confidence, bounds)
    return Intervals(
        estimate=moments.mean,
        low=low,
        high=high,
        confidence=confidence,
        method="t",
        n=moments.n,
        claim=claim,
        warnings=tuple(_codes(size, spread) for size, spread in zip(moments.n, error, strict=True)),
        standard_error=error,
        df=df,
    )


def stratified_mean(
    cells: Sequence[ArrayLike],
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = _UNBOUNDED,
    claim: str = "these questions",
) -> Interval:
    """Mean of cell means, with the noise of the runs only.

    Parameters
    ----------
    cells : sequence of arrays of float, each of shape (n_cell,)
        Observations by cell (by question).
    confidence, bounds, claim
        As for `mean_interval`.

    Returns
    -------
    Interval
        With NaN bounds when no cell has two observations (`n<2`) or none varies (`zero-variance`). A cell of
        one observation borrows the variance of the others (`pooled-variance`).

    Notes
    -----
    The variance is sum(s²/n) / Q² over Q cells with Satterthwaite degrees of freedom [1]_. Differences
    between questions are no noise for a claim about these questions; one pooled t interval would count them
    as such.

    References
    ----------
    .. [1] Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components.
           Biometrics 2.

    Examples
    --------
    >>> interval = stratified_mean([[10.0, 12.0], [100.0, 104.0]])
    >>> print(f"{interval.estimate} ({interval.low:.1f} to {interval.high:.1f})")
    56.5 (49.6 to 63.4)
    """
    moments = by_cell(check.cells("cells", cells))
    check.proportion("confidence", confidence)
    weights = np.asarray(1.0 / (moments.n * float(len(moments.n)) ** 2), dtype=np.float64)
    variance, denominator, borrowed = pooled(weights, moments.variance, moments.n)
    error = np.array([np.sqrt(variance)])
    df = variance**2 / denominator if denominator > 0 else np.nan
    estimate = np.array([moments.mean.mean()])
    low, high = _t_bounds(estimate, error, np.array([df]), confidence, bounds)
    size = int(moments.n.max())
    return Interval(
        estimate=float(estimate[0]),
        low=float(low[0]),
        high=float(high[0]),
        confidence=confidence,
        method="t" if len(moments.n) == 1 else "t-stratified",
        n=int(moments.n.sum()),
        claim=claim,
        warnings=_codes(size, float(error[0])) + (("pooled-variance",) if borrowed else ()),
        standard_error=float(error[0]),
        df=float(df),
    )


def _t_bounds(
    estimate: FloatArray, error: FloatArray, df: FloatArray, confidence: float, bounds: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    usable = np.where((error > 0) & (df > 0), error, np.nan)
    half = t_quantile(0.5 + confidence / 2, np.where(df > 0, df, np.nan)) * usable
    return np.clip(estimate - half, *bounds), np.clip(estimate + half, *bounds)


def _codes(n: int, error: float) -> tuple[str, ...]:
    if n < 2:  # noqa: PLR2004 - one observation has no spread
        return ("n<2",)
    return ("zero-variance",) if error == 0 else ()
