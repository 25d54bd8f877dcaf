"""Mean and variance of many cells at once, as columns: what every cost statistic starts from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiltyard_stats._result import FloatArray, IntArray
from tiltyard_stats.cells import Cells

_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class Moments:
    """Size, mean and sample variance (n-1) of each cell; the variance of a single observation is NaN."""

    n: IntArray
    mean: FloatArray
    variance: FloatArray

    @property
    def relative_variance(self) -> FloatArray:
        """Squared coefficient of variation of each cell."""
        return np.asarray(self.variance / self.mean**2, dtype=np.float64)


def by_row(values: FloatArray) -> Moments:
    """Cells of equal size: the last axis holds the observations."""
    size = values.shape[-1]
    mean = np.atleast_1d(values.mean(axis=-1))
    squares = np.atleast_1d(np.square(values - values.mean(axis=-1, keepdims=True)).sum(axis=-1))
    n = np.full(mean.shape, size, dtype=np.int64)
    return Moments(n, mean, _sample_variance(squares, mean, n))


def by_cell(cells: Sequence[FloatArray]) -> Moments:
    """Cells of any size, in one pass over all of them."""
    every = cells if isinstance(cells, Cells) else Cells.of(cells)
    n, mean = every.n, every.means
    squares = np.add.reduceat(np.square(every.flat - np.repeat(mean, n)), every.starts)
    return Moments(n, mean, _sample_variance(squares, mean, n))


def _sample_variance(squares: FloatArray, mean: FloatArray, n: IntArray) -> FloatArray:
    # Equal values such as 0.1, 0.1, 0.1 leave a rounding error that must not pass for spread.
    squares = np.where(squares <= n * (_ROUNDING * mean) ** 2, 0.0, squares)
    return np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan)


def pooled(weights: FloatArray, variances: FloatArray, n: IntArray) -> tuple[float, float, bool]:
    """Weighted sum of cell variances, with its sum of squares over df for the Satterthwaite rule.

    A cell of one observation has no variance of its own; it borrows the average of the other cells, weighted
    by their degrees of freedom. Without any cell of two the result is NaN.

    Returns:
        The sum, the Satterthwaite denominator, and whether a cell had to borrow.
    """
    single = n < 2  # noqa: PLR2004 - one observation has no spread
    if single.all():
        return float("nan"), float("nan"), False
    df = (n - 1).astype(np.float64)
    full = weights + weights[single].sum() * df / df.sum()
    terms = full[~single] * variances[~single]
    return float(terms.sum()), float((terms**2 / df[~single]).sum()), bool(single.any())
