"""Paired bootstraps of differences in cost, in time, and in either per success."""

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._columns import with_width
from tiltyard_stats._quantiles import quantiles
from tiltyard_stats._result import FloatArray, Interval
from tiltyard_stats._spending import Spending, blocking, spending
from tiltyard_stats.bootstrap import METHODS, BootstrapMethod, bootstrap_mean
from tiltyard_stats.resample import RESAMPLES, Rng, divide, resample, tails


def paired_bootstrap_delta(
    arm: ArrayLike,
    baseline: ArrayLike,
    *,
    confidence: float = 0.95,
    method: BootstrapMethod = "expanded",
    claim: str = "these runs",
    resamples: int = RESAMPLES,
    rng: Rng = None,
) -> Interval:
    """Mean difference of paired observations, such as the cost or the time of a trial in both arms.

    Parameters
    ----------
    arm, baseline : array of float, shape (pairs,)
        The i-th of one goes with the i-th of the other; in one unit, which the difference keeps.
    confidence, method, claim, resamples, rng
        As for `bootstrap_mean`.

    Returns
    -------
    Interval
        mean(arm - baseline). NaN bounds for one pair (`n<2`) or equal differences (`zero-variance`).

    Raises
    ------
    ValueError
        When there is no pair, the sides differ in length, or a value is missing.

    Examples
    --------
    >>> delta = paired_bootstrap_delta([12, 15, 11, 19], [10, 11, 10, 12])
    >>> print(f"{delta.estimate} ({delta.low:.1f} to {delta.high:.1f})")
    3.5 (1.0 to 7.0)
    """
    pair = check.sample("arm", arm), check.sample("baseline", baseline)
    check.same_length("arm", pair[0], "baseline", pair[1])
    return bootstrap_mean(
        pair[0] - pair[1], confidence=confidence, method=method, claim=claim, resamples=resamples, rng=rng
    )


def cost_per_success_delta(
    arm: tuple[ArrayLike, ArrayLike],
    baseline: tuple[ArrayLike, ArrayLike],
    *,
    confidence: float = 0.95,
    method: BootstrapMethod = "expanded",
    claim: str = "these questions",
    resamples: int = RESAMPLES,
    rng: Rng = None,
) -> Interval:
    """Difference in cost (or time) per success between paired trials.

    Parameters
    ----------
    arm, baseline : pair of arrays, each of shape (trials,)
        Costs and successes as for `cost_per_success`; the i-th trials of both sides are a pair.
    confidence, method, claim, resamples, rng
        As for `bootstrap_mean`.

    Returns
    -------
    Interval
        Arm minus baseline. Fewer than five successes on either side block it: the claim is "blocked" and the
        bounds are NaN (`few-successes`, `no-successes`).

    Raises
    ------
    ValueError
        As for `cost_per_success`, and when the sides differ in length.

    Notes
    -----
    Pairs are resampled. A resample in which neither side has a success says nothing and is left out; with one
    such side it is infinite.

    Examples
    --------
    >>> delta = cost_per_success_delta(
    ...     ([2, 3, 2, 3, 2, 3], [1, 1, 1, 0, 1, 1]), ([4, 7, 4, 5, 4, 6], [1, 1, 1, 1, 1, 0])
    ... )
    >>> print(f"{delta.estimate} ({delta.low:.1f} to {delta.high:.1f})")
    -3.0 (-14.7 to 3.3)
    """
    check.choice("method", method, METHODS)
    check.proportion("confidence", confidence)
    ours = spending("arm costs", arm[0], "arm successes", arm[1])
    theirs = spending("baseline costs", baseline[0], "baseline successes", baseline[1])
    check.same_length("arm costs", ours.costs, "baseline costs", theirs.costs)
    blocked = tuple(sorted(set(blocking(ours) + blocking(theirs))))
    codes = blocked or _codes(ours, theirs)
    low = high = np.nan
    if not codes:
        low, high, codes = with_width(*_bounds(ours, theirs, method, confidence, resamples, rng))
    return Interval(
        estimate=ours.rate - theirs.rate if np.isfinite(theirs.rate) else np.nan,
        low=low,
        high=high,
        confidence=confidence,
        method=method,
        n=ours.trials,
        claim="blocked" if blocked else claim,
        warnings=codes,
    )


def _codes(ours: Spending, theirs: Spending) -> tuple[str, ...]:
    if ours.trials < 2:  # noqa: PLR2004 - one pair has no spread
        return ("n<2",)
    both = {ours.codes, theirs.codes}
    return ("zero-variance",) if both <= {("zero-variance",), ("zero-mean",)} else ()


def _bounds(
    ours: Spending, theirs: Spending, method: str, confidence: float, resamples: int, rng: Rng
) -> tuple[float, float]:
    (drawn,) = resample([ours.trials], resamples=resamples, rng=rng)
    rates: list[FloatArray] = [
        divide(drawn.weights @ side.costs, drawn.weights @ side.successes) for side in (ours, theirs)
    ]
    with np.errstate(invalid="ignore"):
        deltas = rates[0] - rates[1]
    says = ~np.isnan(deltas)
    counts = None if drawn.counts is None else drawn.counts[says]
    cut = quantiles(deltas[np.newaxis, says], counts, tails(method, ours.trials, confidence))
    return float(cut[0, 0]), float(cut[1, 0])
