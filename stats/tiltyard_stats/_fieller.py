"""Fieller's interval of a ratio of two means: exact for normal means, and honest when there is no bound."""

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats._result import FloatArray


def fieller_bounds(
    top: ArrayLike, bottom: ArrayLike, *, variances: tuple[ArrayLike, ArrayLike, ArrayLike], t: ArrayLike
) -> FloatArray:
    """Bounds of ratios of positive means.

    Parameters
    ----------
    top, bottom : array of float, shape (cells,)
        The two means.
    variances : three arrays of float, shape (cells,)
        Variance of `top`, variance of `bottom`, and their covariance.
    t : array of float, shape (cells,)
        Quantile of Student's t.

    Returns
    -------
    array of float, shape (2, cells)
        Lower bounds, at least 0, and upper ones; infinite where the data do not keep `bottom` from 0.

    Notes
    -----
    The ratios r with (top - r bottom)² <= t² (v_tt - 2 r v_tb + r² v_bb) [1]_. Where `bottom` is within t
    standard errors of 0 they have no upper bound; a gap among them is then ignored.

    References
    ----------
    .. [1] Fieller, E. C. (1954). Some problems in interval estimation. JRSS-B 16.

    Examples
    --------
    >>> fieller_bounds([2.0], [4.0], variances=([0.01], [0.04], [0.0]), t=[2.0]).round(3).ravel().tolist()
    [0.434, 0.576]
    """
    x, y = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    square = np.square(np.asarray(t, dtype=np.float64))
    v_top, v_bottom, v_both = (np.asarray(value, dtype=np.float64) for value in variances)
    a, b, c = y**2 - square * v_bottom, x * y - square * v_both, x**2 - square * v_top
    bounded = a > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
        low, high = (b - root) / a, (b + root) / a
    # Without an upper bound the ratios start at the larger root, or at 0 when 0 is among them.
    start = np.where((c > 0) & (a < 0), low, 0.0)
    known = np.isfinite(a + b + c)
    bounds = np.where(
        bounded, [np.maximum(low, 0.0), high], [np.maximum(start, 0.0), np.full(a.shape, np.inf)]
    )
    return np.where(known, bounds, np.nan)
