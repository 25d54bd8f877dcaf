"""Whole runs as the unit: what is left when runs share a shock, and Welch's difference of two means."""

from dataclasses import dataclass
from math import inf, nan

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._moments import by_row
from tiltyard_stats._result import Interval
from tiltyard_stats._special import t_quantile, t_two_sided
from tiltyard_stats.mean import mean_interval


@dataclass(frozen=True, slots=True)
class MeanDifference(Interval):
    """A difference of two means with its test."""

    statistic: float = nan
    """Difference over standard error."""
    pvalue: float = nan
    """Two-sided; NaN when the data cannot give one."""


def runs_t(
    run_means: ArrayLike,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
    claim: str = "these cases",
) -> Interval:
    """Student's t interval over the means of complete runs.

    Parameters
    ----------
    run_means : array of float, shape (runs,)
        Pass rate of each complete run.
    confidence : float
        Nominal coverage.
    bounds : pair of float
        The range of possible means; the interval is clipped to it.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    Interval
        With NaN bounds and a warning for one run (`n<2`) or equal means (`zero-variance`).

    Raises
    ------
    ValueError
        When there is no run, or a mean is missing or outside the bounds.

    Notes
    -----
    It holds whether or not the cases of a run share a shock, at the price of runs - 1 degrees of freedom
    [1]_: two runs leave hardly anything.

    References
    ----------
    .. [1] Student (1908). The probable error of a mean. Biometrika 6.

    Examples
    --------
    >>> interval = runs_t([0.48, 0.40])
    >>> print(f"{interval.estimate:.1%} ({interval.low:.1%} to {interval.high:.1%})")
    44.0% (0.0% to 94.8%)
    """
    rates = check.sample("run_means", run_means)
    return mean_interval(
        check.within("run_means", rates, bounds), confidence=confidence, bounds=bounds, claim=claim
    )


def welch(
    a: ArrayLike,
    b: ArrayLike,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = (-inf, inf),
    claim: str = "these cases",
) -> MeanDifference:
    """Welch's interval and test of a difference of two means, a minus b.

    Parameters
    ----------
    a, b : array of float, shapes (n,) and (m,)
        Observations of each side: means of complete runs, costs, seconds.
    confidence : float
        Nominal coverage.
    bounds : pair of float
        The range of possible differences; the interval is clipped to it.
    claim : str
        What the observations stand for; carried into the result.

    Returns
    -------
    MeanDifference
        With NaN bounds, p value and a warning for one observation on a side (`n<2`) or no variance on either
        (`zero-variance`).

    Raises
    ------
    ValueError
        When a side has no observation, one is missing, or the difference is outside the bounds.

    Notes
    -----
    The variances may differ; the degrees of freedom are Satterthwaite's [1]_.

    References
    ----------
    .. [1] Welch, B. L. (1947). The generalization of Student's problem. Biometrika 34.

    Examples
    --------
    >>> diff = welch([0.62, 0.60, 0.64], [0.70, 0.72, 0.69])
    >>> print(f"{diff.estimate:.3f} ({diff.low:.3f} to {diff.high:.3f}), p = {diff.pvalue:.3f}")
    -0.083 (-0.125 to -0.042), p = 0.006
    """
    check.proportion("confidence", confidence)
    sides = [by_row(check.sample(name, side)[np.newaxis]) for name, side in (("a", a), ("b", b))]
    parts = [float(side.variance[0] / side.n[0]) for side in sides]
    sizes = [int(side.n[0]) for side in sides]
    estimate = float(sides[0].mean[0] - sides[1].mean[0])
    check.within("a - b", np.array([estimate]), bounds)
    error = (parts[0] + parts[1]) ** 0.5
    known = error > 0
    df = nan
    if known:
        df = error**4 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    half = float(t_quantile(0.5 + confidence / 2, df)) * error
    return MeanDifference(
        estimate=estimate,
        low=float(np.clip(estimate - half, *bounds)),
        high=float(np.clip(estimate + half, *bounds)),
        confidence=confidence,
        method="welch",
        n=sum(sizes),
        claim=claim,
        warnings=() if known else ("n<2",) if min(sizes) == 1 else ("zero-variance",),
        standard_error=error,
        df=df,
        statistic=estimate / error if known else nan,
        pvalue=float(t_two_sided(estimate / error, df)) if known else nan,
    )
