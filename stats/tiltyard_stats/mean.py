"""Means with Student intervals, of one sample or stratified over cells."""

from collections.abc import Sequence
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._moments import Moments, by_cell, by_row, pooled
from tiltyard_stats._result import FloatArray, Interval, Intervals
from tiltyard_stats._special import normal_quantile, t_quantile

MeanMethod = Literal["t", "z"]
_UNBOUNDED = (-inf, inf)


def mean_interval(
    values: ArrayLike,
    *,
    confidence: float = 0.95,
    method: MeanMethod = "t",
    bounds: tuple[float, float] = _UNBOUNDED,
    claim: str = "these runs",
) -> Interval:
    """Student's t interval of a mean: of cost, latency, score, steps, tools.

    Parameters
    ----------
    values : array of float, shape (n,)
        Observations of one cell.
    confidence : float
        Nominal coverage.
    method : {"t", "z"}
        "z" takes the normal quantile, as a source does; it is too narrow and here to reproduce its figures.
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
        When there is no observation, or one is not finite or outside the bounds.

    Notes
    -----
    mean ± t sd/sqrt(n) with n-1 degrees of freedom [1]_. The normal quantile in its place covers 85.5% at n
    = 4, 87.8% at 5, 90.9% at 8 and 93.5% at 20.

    References
    ----------
    .. [1] Student (1908). The probable error of a mean. Biometrika 6.

    Examples
    --------
    >>> interval = mean_interval([33, 33, 50, 73])
    >>> print(f"{interval.estimate} ({interval.low:.1f} to {interval.high:.1f})")
    47.25 (17.1 to 77.4)
    """
    cell = check.within("values", check.sample("values", values), bounds)[np.newaxis]
    return mean_intervals(cell, confidence=confidence, method=method, bounds=bounds, claim=claim)[0]


def mean_intervals(
    values: ArrayLike,
    *,
    confidence: float = 0.95,
    method: MeanMethod = "t",
    bounds: tuple[float, float] = _UNBOUNDED,
    claim: str = "these runs",
) -> Intervals:
    """Student's t intervals of many cells of equal size.

    Parameters
    ----------
    values : array of float, shape (cells, n)
        Observations of a cell along the last axis.
    confidence, method, bounds, claim
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
    rows = check.rows("values", check.within("values", check.samples("values", values), bounds))
    return _of_moments(by_row(rows), confidence, method, bounds, claim)


def cell_means(
    cells: Sequence[ArrayLike],
    *,
    confidence: float = 0.95,
    method: MeanMethod = "t",
    bounds: tuple[float, float] = _UNBOUNDED,
    claim: str = "these runs",
) -> Intervals:
    """Student's t intervals of cells of any sizes, such as the token means by question and arm.

    Parameters
    ----------
    cells : sequence of arrays of float, each of shape (n_cell,)
        Observations by cell.
    confidence, method, bounds, claim
        As for `mean_interval`.

    Returns
    -------
    Intervals
        One per cell.

    Examples
    --------
    >>> means = cell_means([[1.0, 3.0, 5.0], [8.0]])
    >>> means.estimate.tolist(), means.warnings
    ([3.0, 8.0], ((), ('n<2',)))
    """
    return _of_moments(_bounded(cells, bounds), confidence, method, bounds, claim)


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
    moments = _bounded(cells, bounds)
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


def _bounded(cells: Sequence[ArrayLike], bounds: tuple[float, float]) -> Moments:
    arrays = check.cells("cells", cells)
    check.within("cells", arrays.flat, bounds)
    return by_cell(arrays)


def _of_moments(
    moments: Moments, confidence: float, method: MeanMethod, bounds: tuple[float, float], claim: str
) -> Intervals:
    check.proportion("confidence", confidence)
    check.choice("method", method, ("t", "z"))
    df = np.asarray(moments.n - 1, dtype=np.float64)
    error = np.sqrt(moments.variance / moments.n)
    low, high = _t_bounds(moments.mean, error, df, confidence, bounds)
    if method == "z":
        df = np.full(df.shape, np.nan)
        half = normal_quantile(0.5 + confidence / 2) * np.where(error > 0, error, np.nan)
        low, high = np.clip(moments.mean - half, *bounds), np.clip(moments.mean + half, *bounds)
    return Intervals(
        estimate=moments.mean,
        low=low,
        high=high,
        confidence=confidence,
        method=method,
        n=moments.n,
        claim=claim,
        warnings=tuple(_codes(int(size), spread) for size, spread in zip(moments.n, error, strict=True)),
        standard_error=error,
        df=df,
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
