"""Whether a quantity drifts along the order of the runs, seen within cells: their mix does not count."""

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, IntArray, Interval
from tiltyard_stats._special import t_quantile, t_two_sided

_NOTHING = 1e-12
"""Rounding leaves so much of what is constant within cells."""


@dataclass(frozen=True, slots=True)
class Trend(Interval):
    """The change from the first place to the last, with its test."""

    pvalue: float = nan
    """Two-sided, of no change; NaN when the data cannot give one."""


def trend(values: ArrayLike, places: ArrayLike, cells: ArrayLike, *, confidence: float = 0.95) -> Trend:
    """Change along the order: one slope for all cells, each with a level of its own.

    Parameters
    ----------
    values : array of float, shape (n,)
        One per run; the logarithm of what changes by a factor.
    places : array of float, shape (n,)
        Place of each run in the order; only differences count.
    cells : array of int, shape (n,)
        Cell of each run (question, arm and agent), numbered from 0.
    confidence : float
        Nominal coverage.

    Returns
    -------
    Trend
        Change of the mean from the first place to the last, in the unit of the values. Bounds are NaN when a
        cell's runs all stand at one place or too few are left (`n<2`), or nothing varies (`zero-variance`).

    Raises
    ------
    ValueError
        When there is no run, a value is missing, or the arrays differ in length.

    Notes
    -----
    Least squares with fixed effects for the cells, by the within transformation [1]_; Student's t.

    References
    ----------
    .. [1] Wooldridge, J. M. (2010). Econometric Analysis of Cross Section and Panel Data, 10.5.

    Examples
    --------
    >>> found = trend([1.0, 1.3, 2.1, 2.2, 2.6, 3.0], [0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1])
    >>> print(f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})")
    0.95 (0.48 to 1.42)
    """
    level = 0.5 + check.proportion("confidence", confidence) / 2
    y, x = check.sample("values", values), check.sample("places", places)
    group = np.asarray(cells, dtype=np.int64)
    check.same_length("values", y, "places", x)
    check.same_length("values", y, "cells", group.astype(np.float64))
    span = float(x.max() - x.min())
    inner_x, inner_y = _within(x / span if span else x, group), _within(y, group)
    square = float(inner_x @ inner_x)
    df = len(y) - len(np.unique(group)) - 1
    slope = float(inner_x @ inner_y) / square if square > _NOTHING else nan
    rest = inner_y - slope * inner_x
    error = sqrt(float(rest @ rest) / df / square) if df > 0 and square > _NOTHING else nan
    # A NaN is in neither of these, and so in the second.
    if not error > _NOTHING * max(1.0, abs(slope)):
        code = "zero-variance" if error == error else "n<2"  # noqa: PLR0124 - NaN
        return Trend(slope, nan, nan, confidence, "within-cells", len(y), "these runs", (code,))
    half = float(t_quantile(level, df)) * error
    return Trend(
        estimate=slope,
        low=slope - half,
        high=slope + half,
        confidence=confidence,
        method="within-cells",
        n=len(y),
        claim="these runs",
        standard_error=error,
        df=df,
        pvalue=float(t_two_sided(slope / error, df)),
    )


def _within(values: FloatArray, cells: IntArray) -> FloatArray:
    """Each value less the mean of its cell."""
    means = np.bincount(cells, values) / np.maximum(np.bincount(cells), 1)
    return np.asarray(values - means[cells], dtype=np.float64)
