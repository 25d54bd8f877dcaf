"""The log-t kernel: log ratios of mean costs with their standard errors and degrees of freedom."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._columns import Codes, spread_codes
from tiltyard_stats._moments import Moments, pooled
from tiltyard_stats._result import FloatArray, Intervals
from tiltyard_stats._special import t_quantile


@dataclass(frozen=True, slots=True)
class LogRatios:
    """Log ratios with their standard errors (NaN where unknown), degrees of freedom and warning codes."""

    log: FloatArray
    error: FloatArray
    df: FloatArray
    warnings: Codes


def each(arms: Moments, bases: Moments) -> LogRatios:
    """One ratio of means per cell."""
    zero = arms.mean == 0
    safe = Moments(arms.n, np.where(zero, np.nan, arms.mean), arms.variance)
    return welch(
        log(arms, bases), (safe.relative_variance, arms.n), (bases.relative_variance, bases.n), zero=zero
    )


def welch(
    difference: FloatArray,
    arm: tuple[FloatArray, ArrayLike],
    base: tuple[FloatArray, ArrayLike],
    *,
    zero: ArrayLike | None = None,
) -> LogRatios:
    """Differences of logs with Welch-Satterthwaite degrees of freedom.

    Args:
        difference: One per cell.
        arm: Variance of an observation and number of them, per cell.
        base: The same of the other side.
        zero: Cells whose arm costs nothing.
    """
    sizes = np.asarray(arm[1]), np.asarray(base[1])
    parts = arm[0] / sizes[0], base[0] / sizes[1]
    denominator = parts[0] ** 2 / np.maximum(sizes[0] - 1, 1) + parts[1] ** 2 / np.maximum(sizes[1] - 1, 1)
    single = (sizes[0] < 2) | (sizes[1] < 2)  # noqa: PLR2004 - one run has no spread
    return log_ratios(difference, parts[0] + parts[1], denominator, single, zero)


def stratified(arms: Moments, bases: Moments) -> LogRatios:
    """The mean log ratio over all cells."""
    weights = np.full(len(arms.n), 1.0 / len(arms.n) ** 2)
    zero = (arms.mean == 0).any()
    return combined(np.array([log(arms, bases).mean()]), (arms, weights), (bases, weights), zero=bool(zero))


def totals(arms: Moments, bases: Moments) -> LogRatios:
    """The log ratio of the sums of the cells' means."""
    sums = arms.mean.sum(), bases.mean.sum()
    weights = [(side.mean / total) ** 2 for side, total in zip((arms, bases), sums, strict=True) if total > 0]
    if len(weights) < 2:  # noqa: PLR2004 - an arm that costs nothing has no weights
        return unknown(-np.inf, (("zero-mean",),))
    ratio = np.array([np.log(sums[0]) - np.log(sums[1])])
    return combined(ratio, (arms, weights[0]), (bases, weights[1]))


def combined(
    ratio: FloatArray,
    arm: tuple[Moments, FloatArray],
    base: tuple[Moments, FloatArray],
    *,
    zero: bool = False,
) -> LogRatios:
    """A log ratio whose variance is a weighted sum of the cells' relative variances of the mean."""
    ours, theirs = (_weighted(*side) for side in (arm, base))
    single = (arm[0].n < 2).all() or (base[0].n < 2).all()  # noqa: PLR2004 - one run has no spread
    result = log_ratios(
        ratio,
        np.array([ours[0] + theirs[0]]),
        np.array([ours[1] + theirs[1]]),
        np.array([single]),
        np.array([zero]),
    )
    codes = result.warnings[0] + (("pooled-variance",) if ours[2] or theirs[2] else ())
    return LogRatios(result.log, result.error, result.df, (codes,))


def _weighted(side: Moments, weights: FloatArray) -> tuple[float, float, bool]:
    # A cell that costs nothing has no relative variance; the callers know of it.
    safe = Moments(side.n, np.where(side.mean == 0, np.inf, side.mean), side.variance)
    return pooled(weights / side.n, safe.relative_variance, side.n)


def log(arms: Moments, bases: Moments) -> FloatArray:
    """Log ratio of each cell; minus infinity where the arm costs nothing."""
    with np.errstate(divide="ignore"):
        return np.log(arms.mean) - np.log(bases.mean)


def log_ratios(
    ratio: FloatArray,
    variance: FloatArray,
    denominator: FloatArray,
    single: ArrayLike,
    zero: ArrayLike | None = None,
) -> LogRatios:
    """Log ratios with what is known of their spread."""
    known = variance > 0
    df = np.divide(
        variance**2, denominator, out=np.full(ratio.shape, np.nan), where=known & (denominator > 0)
    )
    codes = spread_codes(single, known, zero)
    blocked = np.array([code == ("zero-mean",) for code in codes])
    error = np.sqrt(np.where(known & ~blocked, variance, np.nan))
    return LogRatios(ratio, error, np.where(blocked, np.nan, df), codes)


def unknown(ratio: float, codes: Codes) -> LogRatios:
    """One log ratio whose spread is not known."""
    return LogRatios(np.array([ratio]), np.array([np.nan]), np.array([np.nan]), codes)


def log_intervals(ratios: LogRatios, n: ArrayLike, method: str, claim: str, confidence: float) -> Intervals:
    """Ratios with bounds: the log ratio ± t standard errors, then exponentiated."""
    level = 0.5 + check.proportion("confidence", confidence) / 2
    half = t_quantile(level, ratios.df) * ratios.error
    center = np.where(np.isfinite(ratios.log), ratios.log, np.nan)
    with np.errstate(over="ignore"):  # two runs at a high confidence: the upper bound is infinite
        low, high = np.exp(center - half), np.exp(center + half)
    return Intervals(
        estimate=np.exp(ratios.log),
        low=low,
        high=high,
        confidence=confidence,
        method=method,
        n=np.asarray(n, dtype=np.int64),
        claim=claim,
        warnings=ratios.warnings,
        standard_error=ratios.error,
        df=ratios.df,
    )
