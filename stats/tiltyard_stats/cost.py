"""Relative cost: the ratio of two arms' arithmetic mean costs, whatever the unit, with a log-t interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._moments import Moments, by_cell, by_row, pooled
from tiltyard_stats._result import FloatArray, Interval, Intervals, TestResult
from tiltyard_stats._special import t_quantile, t_two_sided

CostMethod = Literal["log-t"]
_METHODS = ("log-t",)


@dataclass(frozen=True, slots=True)
class _LogRatios:
    """Log ratios with their standard errors (NaN where unknown), degrees of freedom and warning codes."""

    log: FloatArray
    error: FloatArray
    df: FloatArray
    warnings: tuple[tuple[str, ...], ...]


def cost_ratio(
    arm: ArrayLike,
    baseline: ArrayLike,
    *,
    confidence: float = 0.95,
    method: CostMethod = "log-t",
    claim: str = "these questions",
) -> Interval:
    """Relative cost of an arm in one cell.

    Parameters
    ----------
    arm, baseline : array of float, shapes (n,) and (m,)
        Cost of each run, in one unit, at least 0.
    confidence : float
        Nominal coverage.
    method : {"log-t"}
        The formula.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    Interval
        The ratio arm / baseline. NaN bounds and a warning when an arm has one run (`n<2`), nothing varies
        (`zero-variance`) or the arm costs nothing (`zero-mean`).

    Raises
    ------
    ValueError
        When an arm has no runs, a cost is missing or negative, or the baseline mean is not above 0.

    Notes
    -----
    R = mean(arm) / mean(baseline); the variance of ln R is s_x²/(n x²) + s_y²/(m y²) by the delta method,
    and the bounds are R exp(±t sqrt(V)) with Welch-Satterthwaite degrees of freedom [1]_. For lognormal
    costs with cv up to 0.8 it covers 93 to 96% at 4 to 20 runs; percentile bootstraps cover 65 to 92% at 4
    to 8.

    References
    ----------
    .. [1] Welch, B. L. (1947). The generalization of Student's problem. Biometrika 34.

    Examples
    --------
    >>> ratio = cost_ratio([62, 61, 57, 67, 52, 54], [120, 118, 125, 70, 65, 93])
    >>> print(f"{ratio.estimate:.2f} ({ratio.low:.2f} to {ratio.high:.2f})")
    0.60 (0.45 to 0.79)
    """
    cell = check.sample("arm", arm)[np.newaxis], check.sample("baseline", baseline)[np.newaxis]
    return cost_ratios(*cell, confidence=confidence, method=method, claim=claim)[0]


def cost_ratios(
    arm: ArrayLike,
    baseline: ArrayLike,
    *,
    confidence: float = 0.95,
    method: CostMethod = "log-t",
    claim: str = "these questions",
) -> Intervals:
    """Relative cost in each of many cells of equal size.

    Parameters
    ----------
    arm, baseline : array of float, shapes (cells, n) and (cells, m)
        Costs; the last axis holds the runs of a cell.
    confidence, method, claim
        As for `cost_ratio`.

    Returns
    -------
    Intervals
        One per cell.

    Examples
    --------
    >>> cost_ratios([[1.0, 3.0], [6.0, 6.0]], [[2.0, 2.5], [3.0, 3.0]]).estimate.round(2).tolist()
    [0.89, 2.0]
    """
    check.choice("method", method, _METHODS)
    arms, bases = by_row(_costs("arm", arm)), by_row(_costs("baseline", baseline))
    if len(arms.n) != len(bases.n):
        raise ValueError(
            f"arm ({len(arms.n)} cells) and baseline ({len(bases.n)} cells) must have as many cells."
        )
    _positive(bases)
    ratios = _each(arms, bases)
    return _intervals(ratios, arms.n + bases.n, "log-t", claim, confidence)


def cost_ratio_stratified(
    arm: Sequence[ArrayLike],
    baseline: Sequence[ArrayLike],
    *,
    confidence: float = 0.95,
    method: CostMethod = "log-t",
    claim: str = "these questions",
) -> Interval:
    """Relative cost over several cells, each arm cell beside its baseline cell.

    Parameters
    ----------
    arm, baseline : sequence of arrays of float, one array of shape (n_cell,) per cell
        Costs by cell (by question), in the same order on both sides.
    confidence, method, claim
        As for `cost_ratio`.

    Returns
    -------
    Interval
        The geometric mean of the cells' ratios. A cell of one run borrows the relative variance of the arm's
        other cells (`pooled-variance`); bounds are NaN when an arm has no cell of two (`n<2`).

    Raises
    ------
    ValueError
        As for `cost_ratio`, and when the two sides differ in their number of cells.

    Notes
    -----
    L = mean ln R_q over Q cells and V = sum(V_arm,q + V_baseline,q) / Q², with Satterthwaite degrees of
    freedom over all cells. A mean of logs is symmetric in the choice of baseline, which a mean of ratios is
    not: there A/B and B/A can both exceed 1. With one cell it is `cost_ratio`.

    Examples
    --------
    >>> ratio = cost_ratio_stratified([[10, 12], [40, 44]], [[20, 24], [80, 88]])
    >>> print(f"{ratio.estimate:.2f} ({ratio.low:.2f} to {ratio.high:.2f})")
    0.50 (0.40 to 0.63)
    """
    check.choice("method", method, _METHODS)
    arms, bases = _pairs(arm, baseline)
    name = "log-t" if len(arms.n) == 1 else "log-t-stratified"
    total = np.array([int(arms.n.sum() + bases.n.sum())])
    return _intervals(_stratified(arms, bases), total, name, claim, confidence)[0]


def cost_ratio_test(
    arm: Sequence[ArrayLike], baseline: Sequence[ArrayLike], *, claim: str = "these questions"
) -> TestResult:
    """Test of equal mean cost, the counterpart of `cost_ratio_stratified`.

    Parameters
    ----------
    arm, baseline : sequence of arrays of float
        As for `cost_ratio_stratified`.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    TestResult
        Two-sided; below alpha exactly when the interval of confidence 1 - alpha excludes 1. NaN where that
        is NaN.

    Examples
    --------
    >>> round(cost_ratio_test([[62, 61, 57, 67]], [[120, 118, 125, 90]]).pvalue, 4)
    0.001
    """
    arms, bases = _pairs(arm, baseline)
    ratio = _stratified(arms, bases)
    statistic = ratio.log / ratio.error
    return TestResult(
        statistic=float(statistic[0]),
        pvalue=float(t_two_sided(statistic, ratio.df)[0]),
        method="log-t",
        n=int(arms.n.sum() + bases.n.sum()),
        claim=claim,
        warnings=ratio.warnings[0],
        df=float(ratio.df[0]),
    )


def _pairs(arm: Sequence[ArrayLike], baseline: Sequence[ArrayLike]) -> tuple[Moments, Moments]:
    if len(arm) != len(baseline):
        raise ValueError(
            f"arm ({len(arm)} cells) and baseline ({len(baseline)} cells) must have as many cells."
        )
    arms, bases = check.cells("arm", arm), check.cells("baseline", baseline)
    for name, side in (("arm", arms), ("baseline", bases)):
        _costs(name, np.concatenate(side))
    moments = by_cell(arms), by_cell(bases)
    _positive(moments[1])
    return moments


def _costs(name: str, values: ArrayLike) -> FloatArray:
    array = check.samples(name, values)
    if (array < 0).any():
        raise ValueError(f"{name} holds {array.min()}; a cost must be at least 0.")
    return array


def _positive(baseline: Moments) -> None:
    if (baseline.mean <= 0).any():
        raise ValueError(f"baseline (mean {baseline.mean.min()}) must have a mean above 0 in each cell.")


def _each(arms: Moments, bases: Moments) -> _LogRatios:
    """One ratio per cell."""
    zero = arms.mean == 0
    safe = Moments(arms.n, np.where(zero, np.nan, arms.mean), arms.variance)
    parts = safe.relative_variance / arms.n, bases.relative_variance / bases.n
    variance = parts[0] + parts[1]
    denominator = parts[0] ** 2 / np.maximum(arms.n - 1, 1) + parts[1] ** 2 / np.maximum(bases.n - 1, 1)
    single = (arms.n < 2) | (bases.n < 2)  # noqa: PLR2004 - one run has no spread
    return _log_ratios(_log(arms, bases), variance, denominator, single, zero)


def _stratified(arms: Moments, bases: Moments) -> _LogRatios:
    """One ratio over all cells."""
    cells = float(len(arms.n))
    zero = arms.mean == 0
    safe = Moments(arms.n, np.where(zero, np.nan, arms.mean), arms.variance)
    ours = pooled(1 / (arms.n * cells**2), safe.relative_variance, arms.n)
    theirs = pooled(1 / (bases.n * cells**2), bases.relative_variance, bases.n)
    single = (arms.n < 2).all() or (bases.n < 2).all()  # noqa: PLR2004 - one run has no spread
    result = _log_ratios(
        np.array([_log(arms, bases).mean()]),
        np.array([ours[0] + theirs[0]]),
        np.array([ours[1] + theirs[1]]),
        np.array([single]),
        np.array([zero.any()]),
    )
    codes = result.warnings[0] + (("pooled-variance",) if ours[2] or theirs[2] else ())
    return _LogRatios(result.log, result.error, result.df, (codes,))


def _log(arms: Moments, bases: Moments) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.log(arms.mean) - np.log(bases.mean)


def _log_ratios(
    log: FloatArray, variance: FloatArray, denominator: FloatArray, single: ArrayLike, zero: ArrayLike
) -> _LogRatios:
    known = variance > 0
    df = np.divide(variance**2, denominator, out=np.full(log.shape, np.nan), where=known & (denominator > 0))
    codes = tuple(
        ("zero-mean",) if none else ("n<2",) if one else () if spread else ("zero-variance",)
        for none, one, spread in zip(np.atleast_1d(zero), np.atleast_1d(single), known, strict=True)
    )
    return _LogRatios(log, np.sqrt(np.where(known, variance, np.nan)), df, codes)


def _intervals(ratios: _LogRatios, n: ArrayLike, method: str, claim: str, confidence: float) -> Intervals:
    level = 0.5 + check.proportion("confidence", confidence) / 2
    half = t_quantile(level, ratios.df) * ratios.error
    log = np.where(np.isfinite(ratios.log), ratios.log, np.nan)
    return Intervals(
        estimate=np.exp(ratios.log),
        low=np.exp(log - half),
        high=np.exp(log + half),
        confidence=confidence,
        method=method,
        n=np.asarray(n, dtype=np.int64),
        claim=claim,
        warnings=ratios.warnings,
        standard_error=ratios.error,
        df=ratios.df,
    )
