"""Two arms on the same fixed cases: the interval of the difference of their pass rates."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import IntArray, Interval
from tiltyard_stats._special import normal_quantile
from tiltyard_stats.fixed_cases import ENOUGH_FLAKY, METHODS, FixedMethod, FixedRate, fixed_cases
from tiltyard_stats.paired import paired_diff_t
from tiltyard_stats.two_proportions import mover


@dataclass(frozen=True, slots=True)
class ArmPair:
    """Passes and runs of two arms on the same cases, each of shape (cases,)."""

    candidate: IntArray
    candidate_runs: IntArray
    baseline: IntArray
    baseline_runs: IntArray


def arm_pair(
    candidate: ArrayLike, candidate_runs: ArrayLike, baseline: ArrayLike, baseline_runs: ArrayLike
) -> ArmPair:
    """Check two arms for the same cases."""
    ours = check.cases("candidate", candidate, "candidate_runs", candidate_runs)
    theirs = check.cases("baseline", baseline, "baseline_runs", baseline_runs)
    if len(ours[0]) != len(theirs[0]):
        raise ValueError(
            f"candidate ({len(ours[0])} cases) and baseline ({len(theirs[0])} cases) must hold the same"
            " cases."
        )
    return ArmPair(*ours, *theirs)


def fixed_cases_diff(
    candidate: ArrayLike,
    candidate_runs: ArrayLike,
    baseline: ArrayLike,
    baseline_runs: ArrayLike,
    *,
    confidence: float = 0.95,
    method: FixedMethod = "auto",
    claim: str = "these cases",
) -> Interval:
    """Difference of the mean pass rates of two arms on the same fixed cases, candidate minus baseline.

    Parameters
    ----------
    candidate, baseline : array of int, shape (cases,)
        Passes of each case, cases in the same order.
    candidate_runs, baseline_runs : int or array of int, shape (cases,)
        Runs of each case.
    confidence : float
        Nominal coverage.
    method : {"auto", "wilson-neff", "wilson", "source"}
        The interval of each arm, as for `fixed_cases`. "source" is the normal interval. With one run of each
        case on both sides, "auto" is `paired_diff_t` from ten discordant cases up.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    Interval
        Inside [-1, 1] but for "source". Warns as `fixed_cases` does for either arm; `one-run` when a case has
        a single run.

    Raises
    ------
    ValueError
        As for `fixed_cases`, and when the arms differ in their number of cases.

    Notes
    -----
    The bounds come from those of each arm by MOVER [1]_, [2]_, which keeps their skewness: d - sqrt((a -
    l_a)² + (u_b - b)²) and d + sqrt((u_a - a)² + (b - l_b)²). "source" is d ± z sqrt(v_a + v_b), which covers
    89% on 8 cases run twice.

    References
    ----------
    .. [1] Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions:
           comparison of eleven methods. Stat. Med. 17.
    .. [2] Zou, G. Y. & Donner, A. (2008). Construction of confidence limits about effect measures: a general
           approach. Stat. Med. 27.

    Examples
    --------
    >>> diff = fixed_cases_diff([2, 1, 0, 2, 1, 0], 2, [4, 3, 1, 4, 4, 2], 4)
    >>> print(f"{diff.estimate:.2f} ({diff.low:.2f} to {diff.high:.2f}), {diff.method}")
    -0.25 (-0.53 to 0.07), mover-wilson
    """
    check.choice("method", method, METHODS)
    pair = arm_pair(candidate, candidate_runs, baseline, baseline_runs)
    if method == "auto" and (discordant := _one_run_each(pair)):
        plus, minus, zero = discordant
        paired = paired_diff_t(plus, minus, zero, confidence=confidence, claim=claim)
        return paired.with_warnings("one-run")
    arms = (
        fixed_cases(pair.candidate, pair.candidate_runs, confidence=confidence, method=method, claim=claim),
        fixed_cases(pair.baseline, pair.baseline_runs, confidence=confidence, method=method, claim=claim),
    )
    return _normal(*arms) if method == "source" else _mover(*arms)


def _one_run_each(pair: ArmPair) -> tuple[int, int, int] | None:
    """The discordant counts, when both arms ran each case once and enough cases differ."""
    if (pair.candidate_runs > 1).any() or (pair.baseline_runs > 1).any():
        return None
    difference = pair.candidate - pair.baseline
    plus, minus = int((difference > 0).sum()), int((difference < 0).sum())
    return (plus, minus, len(difference) - plus - minus) if plus + minus >= ENOUGH_FLAKY else None


def _mover(ours: FixedRate, theirs: FixedRate) -> Interval:
    a, b = ((np.array(arm.estimate), np.array(arm.low), np.array(arm.high)) for arm in (ours, theirs))
    low, high = mover(a, b)
    names = sorted({ours.method, theirs.method}, reverse=True)
    return _difference(ours, theirs, (float(low), float(high)), "mover-" + "+".join(names))


def _normal(ours: FixedRate, theirs: FixedRate) -> Interval:
    error = float(np.hypot(ours.standard_error, theirs.standard_error))
    estimate = ours.estimate - theirs.estimate
    half = normal_quantile(0.5 + ours.confidence / 2) * error if error > 0 else np.nan
    return _difference(ours, theirs, (estimate - half, estimate + half), "source")


def _difference(ours: FixedRate, theirs: FixedRate, bounds: tuple[float, float], method: str) -> Interval:
    codes = dict.fromkeys(ours.warnings + theirs.warnings)
    if ours.flaky or theirs.flaky:
        codes.pop("zero-variance", None)
    return Interval(
        estimate=ours.estimate - theirs.estimate,
        low=bounds[0],
        high=bounds[1],
        confidence=ours.confidence,
        method=method,
        n=ours.n + theirs.n,
        claim=ours.claim,
        warnings=tuple(codes),
        standard_error=float(np.hypot(ours.standard_error, theirs.standard_error)),
    )
