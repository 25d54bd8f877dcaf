"""Cost and time per success: all that was spent, failures too, over what succeeded."""

from math import inf, log, nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._columns import with_width
from tiltyard_stats._fieller import fieller_bounds
from tiltyard_stats._quantiles import quantiles
from tiltyard_stats._result import FloatArray, Interval
from tiltyard_stats._special import t_quantile
from tiltyard_stats._spending import ROUNDING, Spending, blocking, spending
from tiltyard_stats.resample import RESAMPLES, Rng, divide, resample, tails

SuccessMethod = Literal["log-t", "fieller", "percentile"]
_METHODS = ("log-t", "fieller", "percentile")


def cost_per_success(
    costs: ArrayLike,
    successes: ArrayLike,
    *,
    confidence: float = 0.95,
    method: SuccessMethod = "log-t",
    claim: str = "these questions",
    resamples: int = RESAMPLES,
    rng: Rng = None,
) -> Interval:
    """Cost of a successful outcome, or the time it takes.

    Parameters
    ----------
    costs : array of float, shape (trials,)
        Spend of each trial in one unit (tokens, USD, seconds), timeouts and failures included. Leave out
        trials lost to the infrastructure and report their spend beside it.
    successes : array of int, shape (trials,)
        Successes of each trial: 0 or 1, or more where a trial holds several outcomes.
    confidence : float
        Nominal coverage.
    method : {"log-t", "fieller", "percentile"}
        The formula, see Notes.
    claim : str
        What the trials stand for; carried into the result unless it is blocked.
    resamples, rng
        For "percentile": number and source of the draws; seed 0 by default.

    Returns
    -------
    Interval
        sum(costs) / sum(successes). With fewer than five successes the estimate stands, the bounds are NaN
        and the claim is "blocked" (`few-successes`); without any the estimate is infinite (`no-successes`).
        NaN bounds too for one trial (`n<2`) or when nothing varies (`zero-variance`). `unbounded` with an
        infinite upper bound when Fieller's method finds none.

    Raises
    ------
    ValueError
        When there is no trial, the two differ in length, a cost is negative or missing, or a success is no
        whole number.

    Notes
    -----
    With rho = sum(C) / sum(Z) and residuals e = C - rho Z, the standard error of ln rho is sd(e) / (sqrt(K)
    mean(C)) and "log-t" gives rho exp(±t_{K-1} se) [1]_; it covers 92 to 95%. "fieller" [2]_ covers 91 to
    98%. "percentile" resamples trials and covers 87 to 94%.

    References
    ----------
    .. [1] Cochran, W. G. (1977). Sampling techniques, 3rd ed., chapter 6.
    .. [2] Fieller, E. C. (1954). Some problems in interval estimation. JRSS-B 16.

    Examples
    --------
    >>> costs, successes = [1.2, 0.8, 2.1, 0.9, 1.5, 1.1, 0.7], [1, 1, 0, 1, 1, 1, 1]
    >>> each = cost_per_success(costs, successes)
    >>> print(f"{each.estimate:.2f} ({each.low:.2f} to {each.high:.2f})")
    1.38 (0.65 to 2.93)
    >>> cost_per_success([1.0, 2.0], [0, 1]).claim
    'blocked'
    """
    check.choice("method", method, _METHODS)
    check.proportion("confidence", confidence)
    spent = spending("costs", costs, "successes", successes)
    codes = blocking(spent) or spent.codes
    bounds = (nan, nan)
    if not codes:
        if method == "log-t":
            bounds = _around(spent.rate, spent.error, spent.trials - 1, confidence)
        elif method == "fieller":
            bounds, codes = _fieller(spent, confidence)
        else:
            low, high, codes = with_width(*_percentile(spent, confidence, resamples, rng))
            bounds = low, high
    return Interval(
        estimate=spent.rate,
        low=bounds[0],
        high=bounds[1],
        confidence=confidence,
        method=method,
        n=spent.trials,
        claim="blocked" if blocking(spent) else claim,
        warnings=codes,
        standard_error=spent.error if method == "log-t" and not codes else nan,
        df=spent.trials - 1 if spent.trials > 1 else nan,
    )


def cost_per_success_ratio(
    arm_costs: ArrayLike,
    arm_successes: ArrayLike,
    baseline_costs: ArrayLike,
    baseline_successes: ArrayLike,
    *,
    paired: bool = False,
    confidence: float = 0.95,
    claim: str = "these questions",
) -> Interval:
    """Cost per success of an arm over that of the baseline.

    Parameters
    ----------
    arm_costs, arm_successes, baseline_costs, baseline_successes : arrays, shape (trials,)
        As for `cost_per_success`.
    paired : bool
        Whether the i-th trial of the arm goes with the i-th of the baseline.
    confidence, claim
        As for `cost_per_success`.

    Returns
    -------
    Interval
        The ratio, with log-t bounds. Fewer than five successes on either side block it, as they do in
        `cost_per_success`; without a success of the baseline the ratio is NaN.

    Raises
    ------
    ValueError
        As for `cost_per_success`; and when paired sides differ in length.

    Notes
    -----
    With e the residuals of `cost_per_success` in units of the mean cost, ln of the ratio has the variance of
    the mean of e_arm - e_baseline with K - 1 degrees of freedom when paired; else the sum of the two
    variances with Welch-Satterthwaite degrees of freedom.

    Examples
    --------
    >>> ones = [1] * 6
    >>> ratio = cost_per_success_ratio([2, 3, 2, 3, 2, 3], ones, [4, 7, 4, 5, 4, 6], ones, paired=True)
    >>> print(f"{ratio.estimate:.2f} ({ratio.low:.2f} to {ratio.high:.2f})")
    0.50 (0.44 to 0.57)
    """
    check.proportion("confidence", confidence)
    arm = spending("arm_costs", arm_costs, "arm_successes", arm_successes)
    base = spending("baseline_costs", baseline_costs, "baseline_successes", baseline_successes)
    if paired:
        check.same_length("arm_costs", arm.costs, "baseline_costs", base.costs)
    blocked = _blocking(arm, base)
    error, df = (_paired_error if paired else _welch_error)(arm, base)
    codes = blocked or _codes(arm, base, error)
    estimate = arm.rate / base.rate if 0 < base.rate < inf else nan
    low, high = (nan, nan) if codes else _around(estimate, error, df, confidence)
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        confidence=confidence,
        method="log-t-paired" if paired else "log-t",
        n=arm.trials if paired else arm.trials + base.trials,
        claim="blocked" if blocked else claim,
        warnings=codes,
        standard_error=nan if codes else error,
        df=nan if codes else df,
    )


def _blocking(arm: Spending, base: Spending) -> tuple[str, ...]:
    return tuple(sorted(set(blocking(arm) + blocking(base))))


def _codes(arm: Spending, base: Spending, error: float) -> tuple[str, ...]:
    if "zero-mean" in arm.codes + base.codes:
        return ("zero-mean",)
    if "n<2" in arm.codes + base.codes:
        return ("n<2",)
    return () if error > 0 else ("zero-variance",)


def _paired_error(arm: Spending, base: Spending) -> tuple[float, float]:
    if arm.trials < 2:  # noqa: PLR2004 - one trial has no spread
        return nan, nan
    difference = arm.residuals - base.residuals
    error = float(difference.std(ddof=1)) / sqrt(arm.trials)
    return error if error > ROUNDING else 0.0, arm.trials - 1


def _welch_error(arm: Spending, base: Spending) -> tuple[float, float]:
    parts = [side.error**2 for side in (arm, base)]
    variance = sum(parts)
    if not variance > 0:
        return variance, nan
    scale = sum(
        part**2 / (side.trials - 1) for part, side in zip(parts, (arm, base), strict=True) if part > 0
    )
    return sqrt(variance), variance**2 / scale


def _around(rate: float, error: float, df: float, confidence: float) -> tuple[float, float]:
    half = float(t_quantile(0.5 + confidence / 2, df)) * error
    with np.errstate(over="ignore"):  # two trials at a high confidence: the upper bound is infinite
        low, high = np.exp(log(rate) + np.array([-half, half]))
    return float(low), float(high)


def _fieller(spent: Spending, confidence: float) -> tuple[tuple[float, float], tuple[str, ...]]:
    spread = np.cov(spent.costs, spent.successes) / spent.trials
    low, high = fieller_bounds(
        spent.costs.mean(),
        spent.successes.mean(),
        variances=(spread[0, 0], spread[1, 1], spread[0, 1]),
        t=t_quantile(0.5 + confidence / 2, spent.trials - 1),
    )
    return (float(low), float(high)), ("unbounded",) if np.isinf(high) else ()


def _percentile(spent: Spending, confidence: float, resamples: int, rng: Rng) -> tuple[float, float]:
    (drawn,) = resample([spent.trials], resamples=resamples, rng=rng)
    sums: list[FloatArray] = [drawn.weights @ part for part in (spent.costs, spent.successes)]
    cut = quantiles(divide(*sums)[np.newaxis], drawn.counts, tails("percentile", spent.trials, confidence))
    return float(cut[0, 0]), float(cut[1, 0])
