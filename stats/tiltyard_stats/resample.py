"""Bootstrap resamples as weights: one matrix serves every cell of a size, so that resampling is a product.

A resample of n observations is how often each of them is drawn. Small samples have few such draws: they are
listed, each with its number of orderings, and the result is exact and needs no seed. Larger samples draw the
weights at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod, sqrt

import numpy as np

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray
from tiltyard_stats._special import normal_cdf, t_quantile

Rng = np.random.Generator | int | None
RESAMPLES = 10_000
EXACT_STATES = 2_000_000
"""Up to so many distinct resamples, over all samples of a statistic, are listed instead of drawn."""
_MOST_DRAWS = 1_000
_BLOCK_VALUES = 160_000
"""Resampled values held at once: 16 cells of 10,000 resamples, 1.3 MB, which caches hold."""
_SINGLE_THREAD = 2**18


@dataclass(frozen=True, slots=True)
class Resamples:
    """Resamples of one sample size, one row each."""

    weights: FloatArray
    """Shape (states, n); each row sums to 1, so that `values @ weights.T` are resampled means."""
    counts: FloatArray | None
    """Orderings behind each row, shape (states,); None when each row was drawn once."""


def bootstrap_weights(
    n: int, resamples: int = RESAMPLES, *, draws: int | None = None, rng: Rng = None
) -> FloatArray:
    """Random bootstrap weights of a sample.

    Parameters
    ----------
    n : int
        Size of the sample.
    resamples : int
        Number of resamples.
    draws : int, optional
        Observations drawn in each; n by default. n - 1 draws from each stratum give a stratified mean its
        unbiased variance, which n draws leave short by (n - 1)/n [1]_.
    rng : numpy Generator or int, optional
        Source of the draws; seed 0 by default, so that reports are reproducible.

    Returns
    -------
    array of float, shape (resamples, n)
        Share of the draws that fell on each observation.

    Raises
    ------
    ValueError
        When `n`, `resamples` or `draws` is below 1.

    Notes
    -----
    The same weights may serve all cells of one size. Each cell's bootstrap is valid by itself; the Monte
    Carlo errors of the cells are correlated.

    References
    ----------
    .. [1] Rao, J. N. K., and Wu, C. F. J. (1988). Resampling inference with complex survey data. JASA 83.

    Examples
    --------
    >>> weights = bootstrap_weights(4, 100)
    >>> weights.shape, bool((weights.sum(axis=1) == 1).all())
    ((100, 4), True)
    """
    check.whole("n", n, 1)
    check.whole("resamples", resamples, 1)
    size = n if draws is None else check.whole("draws", draws, 1)
    picks = as_generator(rng).integers(0, n, (resamples, size))
    flat = (picks + n * np.arange(resamples)[:, np.newaxis]).ravel()
    return np.asarray(np.bincount(flat, minlength=resamples * n).reshape(resamples, n) / size)


def exact_bootstrap(n: int, *, draws: int | None = None) -> Resamples:
    """All distinct resamples of a sample, with the number of orderings of each.

    Parameters
    ----------
    n : int
        Size of the sample.
    draws : int, optional
        Observations drawn in each; n by default.

    Returns
    -------
    Resamples
        C(n + draws - 1, draws) rows whose counts sum to n to the power of draws.

    Raises
    ------
    ValueError
        When there are more than 2,000,000 rows, or `n` is below 1.

    Examples
    --------
    >>> every = exact_bootstrap(2)
    >>> every.weights.tolist(), every.counts.tolist()
    ([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], [1.0, 2.0, 1.0])
    """
    check.whole("n", n, 1)
    size = n if draws is None else check.whole("draws", draws, 1)
    # The table of binomials and the rows must stay small too, when n is far from the number of draws.
    if size > _MOST_DRAWS or max(1, n // size) * states([n], [size]) > EXACT_STATES:
        raise ValueError(f"n ({n}) must be small enough for {EXACT_STATES} distinct resamples.")
    # Part after part, every state branches into the draws that the part may take of what is left.
    binomials = np.array([[comb(left, take) for take in range(size + 1)] for left in range(size + 1)], float)
    parts = np.zeros((1, n), dtype=np.int16)
    left, counts = np.array([size]), np.ones(1)
    for part in range(n - 1):
        branches = left + 1
        take = np.arange(branches.sum()) - np.repeat(np.cumsum(branches) - branches, branches)
        before = np.repeat(left, branches)
        counts = np.repeat(counts, branches) * binomials[before, take]
        parts = np.repeat(parts, branches, axis=0)
        parts[:, part] = take
        left = before - take
    parts[:, n - 1] = left
    return Resamples(parts / size, counts)


def states(sizes: Sequence[int], draws: Sequence[int]) -> int:
    """Number of distinct resamples of several samples together."""
    return prod(comb(n + size - 1, size) for n, size in zip(sizes, draws, strict=True))


def resample(
    sizes: Sequence[int],
    *,
    draws: Sequence[int] | None = None,
    resamples: int = RESAMPLES,
    rng: Rng = None,
    exact: bool | None = None,
) -> list[Resamples]:
    """Resamples of one or more independent samples.

    Parameters
    ----------
    sizes : sequence of int
        Size of each sample.
    draws : sequence of int, optional
        Observations drawn from each; the sizes by default.
    resamples, rng
        As for `bootstrap_weights`.
    exact : bool, optional
        Whether all resamples are listed; by default when there are at most 2,000,000 over all samples.

    Returns
    -------
    list of Resamples
        One for each sample. Listed ones combine each row of one with each of the others; drawn ones go row
        by row.

    Raises
    ------
    ValueError
        When `exact` is asked for and there are too many.

    Examples
    --------
    >>> [len(sample.weights) for sample in resample([4, 3])]
    [35, 10]
    """
    size = list(sizes if draws is None else draws)
    total = states(sizes, size)
    if exact and total > EXACT_STATES:
        raise ValueError(
            f"exact (True) must not need more than {EXACT_STATES} distinct resamples; sizes ({list(sizes)}) "
            f"need {total}."
        )
    if exact or (exact is None and total <= EXACT_STATES):
        return [exact_bootstrap(n, draws=count) for n, count in zip(sizes, size, strict=True)]
    source = as_generator(rng)
    return [
        Resamples(bootstrap_weights(n, resamples, draws=count, rng=source), None)
        for n, count in zip(sizes, size, strict=True)
    ]


def as_generator(rng: Rng) -> np.random.Generator:
    """The given generator, or a new one from a seed; seed 0 without one."""
    return np.random.default_rng(0 if rng is None else rng)


def blocks(cells: int, values: int) -> list[slice]:
    """Slices of cells that keep the resampled values of a block, `values` per cell, in little memory."""
    step = max(1, _BLOCK_VALUES // values)
    return [slice(start, start + step) for start in range(0, cells, step)]


def tails(method: str, n: int, confidence: float) -> tuple[float, float]:
    """The two levels at which a bootstrap distribution is cut.

    "expanded" takes the normal tail at sqrt(n/(n-1)) t_{n-1}: a bootstrap distribution is narrow by (n-1)/n
    and its tails are normal [1]_.

    References
    ----------
    .. [1] Hesterberg, T. C. (2015). What teachers should know about the bootstrap. Am. Stat. 69.
    """
    level = (1 - confidence) / 2
    if method == "expanded":
        level = float(normal_cdf(-sqrt(n / (n - 1)) * float(t_quantile(1 - level, n - 1))))
    return level, 1 - level


def divide(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Ratios, in place where it can be; a resample with nothing to divide by counts as infinite."""
    if not bottom.all():
        return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.inf)
    if top.shape == bottom.shape:
        top /= bottom
        return top
    return np.asarray(top / bottom)


def means(cells: FloatArray, weights: FloatArray) -> FloatArray:
    """Resampled means of a block of cells, shape (cells, states)."""
    result = np.empty((len(cells), len(weights)))
    # A thin product is several times slower on the threads of the linear algebra library than on one core; it
    # takes pieces of this size on one.
    step = max(1, _SINGLE_THREAD // cells.size)
    for start in range(0, len(weights), step):
        part = slice(start, start + step)
        np.matmul(cells, weights[part].T, out=result[:, part])
    return result
