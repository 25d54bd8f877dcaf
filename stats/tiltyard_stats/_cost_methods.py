"""The other methods of relative cost in one cell: geometric, Fieller's, and the bootstraps of the sources."""

from dataclasses import replace

import numpy as np

from tiltyard_stats import _validate as check
from tiltyard_stats._columns import intervals, spread_codes
from tiltyard_stats._fieller import fieller_bounds
from tiltyard_stats._logratio import LogRatios, each, log_intervals, welch
from tiltyard_stats._moments import Moments, by_row
from tiltyard_stats._quantiles import quantiles
from tiltyard_stats._result import FloatArray, Intervals
from tiltyard_stats._special import t_quantile
from tiltyard_stats.bootstrap import bootstrap_means
from tiltyard_stats.resample import Resamples, Rng, blocks, divide, means, resample, tails


def log_t(arm: FloatArray, base: FloatArray, claim: str, confidence: float) -> Intervals:
    """The default, see `cost_ratio`."""
    arms, bases = by_row(arm), by_row(base)
    return log_intervals(each(arms, bases), arms.n + bases.n, "log-t", claim, confidence)


def geometric(arm: FloatArray, base: FloatArray, claim: str, confidence: float) -> Intervals:
    """Welch's interval on logs: the ratio of the geometric means."""
    for name, costs in (("arm", arm), ("baseline", base)):
        if (costs <= 0).any():
            raise ValueError(
                f"{name} holds {costs.min()}; the geometric method takes logs and needs costs above 0."
            )
    arms, bases = by_row(np.log(arm)), by_row(np.log(base))
    ratios: LogRatios = welch(arms.mean - bases.mean, (arms.variance, arms.n), (bases.variance, bases.n))
    return log_intervals(ratios, arms.n + bases.n, "geometric", claim, confidence)


def fieller(arm: FloatArray, base: FloatArray, claim: str, confidence: float) -> Intervals:
    """Fieller's interval with Welch-Satterthwaite degrees of freedom."""
    arms, bases = by_row(arm), by_row(base)
    ratios = each(arms, bases)
    t = t_quantile(0.5 + check.proportion("confidence", confidence) / 2, ratios.df)
    variances = arms.variance / arms.n, bases.variance / bases.n, np.zeros(len(arm))
    bounds = fieller_bounds(arms.mean, bases.mean, variances=variances, t=t)
    result = _ratio_intervals(arms, bases, bounds, "fieller", claim, confidence)
    open_end = np.isinf(result.high)
    codes = tuple(
        (*codes, "unbounded") if unbounded else codes
        for codes, unbounded in zip(result.warnings, open_end, strict=True)
    )
    return replace(result, warnings=codes, df=ratios.df)


def source_report(
    arm: FloatArray,
    base: FloatArray,
    claim: str,
    confidence: float,
    *,
    resamples: int,
    rng: Rng,
    exact: bool | None,
) -> Intervals:
    """Percentile bootstrap of the arm over the fixed mean of the baseline; drawn, as the source does."""
    result = bootstrap_means(
        arm / base.mean(axis=-1, keepdims=True),
        confidence=confidence,
        method="percentile",
        claim=claim,
        resamples=resamples,
        rng=rng,
        exact=bool(exact),
    )
    name = result.method.replace("percentile", "source-report")
    return replace(result, method=name, n=result.n + base.shape[-1])


def both_sides(
    method: str,
    arm: FloatArray,
    base: FloatArray,
    claim: str,
    confidence: float,
    *,
    resamples: int,
    rng: Rng,
    exact: bool | None,
) -> Intervals:
    """Bootstrap of both arms, cut at the percentiles or further out."""
    arms, bases = by_row(arm), by_row(base)
    sizes = arm.shape[-1], base.shape[-1]
    bounds, name = np.full((2, len(arm)), np.nan), method
    if min(sizes) > 1:
        sides = resample(sizes, resamples=resamples, rng=rng, exact=exact)
        name = method if sides[0].counts is None else f"{method}-exact"
        bounds = _cut(arm, base, sides, tails(method, min(sizes), confidence))
    return _ratio_intervals(arms, bases, bounds, name, claim, confidence)


def _cut(
    arm: FloatArray, base: FloatArray, sides: list[Resamples], levels: tuple[float, float]
) -> FloatArray:
    ours, theirs = sides
    counts = None
    if ours.counts is not None and theirs.counts is not None:
        counts = np.multiply.outer(ours.counts, theirs.counts).ravel()
    bounds = np.empty((2, len(arm)))
    for block in blocks(len(arm), len(ours.weights) if counts is None else len(counts)):
        top, bottom = means(arm[block], ours.weights), means(base[block], theirs.weights)
        if counts is not None:
            top, bottom = top[:, :, np.newaxis], bottom[:, np.newaxis, :]
        ratios = divide(top, bottom).reshape(len(top), -1)
        bounds[:, block] = quantiles(ratios, counts, levels)
    return bounds


def _ratio_intervals(
    arms: Moments, bases: Moments, bounds: FloatArray, method: str, claim: str, confidence: float
) -> Intervals:
    single = (arms.n < 2) | (bases.n < 2)  # noqa: PLR2004 - one run has no spread
    spread = (arms.variance > 0) | (bases.variance > 0)
    return intervals(
        arms.mean / bases.mean,
        bounds,
        arms.n + bases.n,
        confidence=confidence,
        method=method,
        claim=claim,
        warnings=spread_codes(single, spread, arms.mean == 0),
    )
