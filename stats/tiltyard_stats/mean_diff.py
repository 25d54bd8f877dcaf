"""Difference of two arms' means over several cells: cost, latency, steps or tools of an attempt."""

from collections.abc import Sequence
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._moments import Moments, by_cell, pooled
from tiltyard_stats._result import Interval
from tiltyard_stats._special import t_quantile


def stratified_mean_diff(
    arm: Sequence[ArrayLike],
    baseline: Sequence[ArrayLike],
    *,
    confidence: float = 0.95,
    claim: str = "these questions",
) -> Interval:
    """Difference of the means of cell means, with the noise of the runs only.

    Parameters
    ----------
    arm, baseline : sequence of arrays of float, one array of shape (n_cell,) per cell
        Observations by cell (by question or case), in the same order on both sides; in one unit.
    confidence : float
        Nominal coverage.
    claim : str
        What the cells stand for; carried into the result.

    Returns
    -------
    Interval
        Arm minus baseline, in the unit of the data. A cell of one run borrows the variance of the arm's other
        cells (`pooled-variance`); bounds are NaN when an arm has no cell of two (`n<2`) or nothing varies
        (`zero-variance`).

    Raises
    ------
    ValueError
        When there is no cell, a cell is empty, a value is missing, or the sides differ in their cells.

    Notes
    -----
    The variance is the sum of s²/n over the cells of both arms over Q², with Satterthwaite degrees of freedom
    [1]_. With one cell it is Welch's interval; with one number a case use `sampled_diff`.

    References
    ----------
    .. [1] Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components.
           Biometrics 2.

    Examples
    --------
    >>> diff = stratified_mean_diff([[10, 12, 11], [40, 44, 45]], [[9, 8, 10], [38, 36, 37]])
    >>> print(f"{diff.estimate:.1f} ({diff.low:.1f} to {diff.high:.1f})")
    4.0 (1.4 to 6.6)
    """
    level = 0.5 + check.proportion("confidence", confidence) / 2
    sides = by_cell(check.cells("arm", arm)), by_cell(check.cells("baseline", baseline))
    check.same_length("arm", sides[0].mean, "baseline", sides[1].mean)
    ours, theirs = (_of_means(side) for side in sides)
    variance, scale = ours[0] + theirs[0], ours[1] + theirs[1]
    single = any((side.n < 2).all() for side in sides)  # noqa: PLR2004 - one run has no spread
    codes = ("n<2",) if single else () if variance > 0 else ("zero-variance",)
    borrowed = ("pooled-variance",) if ours[2] or theirs[2] else ()
    df = variance**2 / scale if not codes else nan
    error = sqrt(variance) if not codes else nan
    estimate = float(sides[0].mean.mean() - sides[1].mean.mean())
    half = float(t_quantile(level, df)) * error
    return Interval(
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
        confidence=confidence,
        method="welch" if len(sides[0].n) == 1 else "t-stratified",
        n=int(sides[0].n.sum() + sides[1].n.sum()),
        claim=claim,
        warnings=codes + borrowed,
        standard_error=error,
        df=df,
    )


def _of_means(side: Moments) -> tuple[float, float, bool]:
    weights = np.asarray(1.0 / (side.n * float(len(side.n)) ** 2), dtype=np.float64)
    return pooled(weights, side.variance, side.n)
