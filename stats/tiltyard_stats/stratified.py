"""One exact test for a change on fixed cases, whatever the runs: Fisher, McNemar and CMH in one."""

from collections import Counter
from dataclasses import dataclass
from math import gcd, lcm, nan

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _hypergeometric as hypergeometric
from tiltyard_stats._result import FloatArray, IntArray, TestResult
from tiltyard_stats._special import chi2_above
from tiltyard_stats.fixed_diff import ArmPair, arm_pair

# Longer laws are multiplied as Fourier transforms; shorter ones are exact to the last digits of small tails.
_DIRECT_LIMIT = 8192
_DIRECT_PART = 512
"""Parts of a long law, which owes its transforms no small tails anyway, are multiplied up to here."""
_SPARSE = 4
"""Products for each value up to which those of the few values with a chance are quicker than a transform."""
_LONGEST_LAW = 1 << 18
_NEGLIGIBLE = 1e-18
_SMALLEST = 1e-15
"""What a Fourier transform can tell from 0."""


Law = tuple[int, FloatArray]
"""Least value and the chances of this value and those after it."""


@dataclass(frozen=True, slots=True)
class StratifiedTest(TestResult):
    """An exact test of a change on the same cases; `pvalue` is the two-sided exact one."""

    p_drop: float = nan
    """Exact p value of a drop of the candidate."""
    p_rise: float = nan
    """Exact p value of a rise."""
    midp_drop: float = nan
    """Mid-p value of a drop: half the probability of the outcome itself."""
    midp_rise: float = nan
    """Mid-p value of a rise."""
    midp_two_sided: float = nan
    """Twice the smaller mid-p value, at most 1."""
    cmh_statistic: float = nan
    """Cochran, Mantel and Haenszel's chi-squared, without continuity correction."""
    cmh_pvalue: float = nan
    """Its two-sided p value, the normal limit of the exact one."""


def stratified_test(
    candidate: ArrayLike,
    candidate_runs: ArrayLike,
    baseline: ArrayLike,
    baseline_runs: ArrayLike,
    *,
    claim: str = "these cases",
) -> StratifiedTest:
    """Exact permutation test of equal pass rates in each case.

    Parameters
    ----------
    candidate, baseline : array of int, shape (cases,)
        Passes of each case, cases in the same order.
    candidate_runs, baseline_runs : int or array of int, shape (cases,)
        Runs of each case.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    StratifiedTest
        `statistic` is the difference of the mean rates, candidate minus baseline. When no case could have
        come out otherwise, all p values are 1 and the warnings `degenerate` and `zero-variance`. Warns
        `rounded-weights` when very unequal runs need weights of a coarser grid, which leaves the test exact.

    Raises
    ------
    ValueError
        When there is no case, the arms differ in their number of cases, or a case has more passes than runs.

    Notes
    -----
    Under equal rates within each case, and given its passes of both arms, those of the candidate are
    hypergeometric; the law of the difference of mean rates is the convolution over cases [1]_. For one case
    it is Fisher's test (one-sided), for one run per arm exact McNemar, and its normal limit is the test of
    Cochran, Mantel and Haenszel [2]_. Two-sided p values double the smaller tail, so for one case they differ
    from the two-sided Fisher test, which adds up the less probable tables. As a drop gate at 5%, mid-p gives
    2 to 5.5% false alarms, a plug-in variance 6 to 13%.

    References
    ----------
    .. [1] Hirji, K. F. (2006). Exact analysis of discrete data, ch. 8.
    .. [2] Agresti, A. (2013). Categorical data analysis, 3rd ed., 6.4 and 7.3.

    Examples
    --------
    >>> test = stratified_test([2, 1, 0, 2, 1, 0], 2, [4, 3, 1, 4, 4, 2], 4)
    >>> print(f"{test.statistic:.2f}, p = {test.p_drop:.3f}, mid-p {test.midp_drop:.3f}")
    -0.25, p = 0.076, mid-p 0.041
    """
    pair = arm_pair(candidate, candidate_runs, baseline, baseline_runs)
    weights, rounded = _weights(pair)
    long = _length(pair, weights) > _DIRECT_LIMIT
    law, position = _null_law(pair, weights, long=long)
    drop, rise, point = _tails(law, position, _SMALLEST if long else 0.0)
    chi2, cmh_pvalue = _cmh(pair)
    degenerate = ("degenerate", "zero-variance") if len(law) == 1 else ()
    half_drop, half_rise = drop - point / 2, rise - point / 2
    if degenerate:
        half_drop = half_rise = 1.0
    difference = pair.candidate / pair.candidate_runs - pair.baseline / pair.baseline_runs
    return StratifiedTest(
        statistic=float(difference.mean()),
        pvalue=_double(drop, rise),
        method="stratified-exact",
        n=int(pair.candidate_runs.sum() + pair.baseline_runs.sum()),
        claim=claim,
        warnings=degenerate + (("rounded-weights",) if rounded else ()),
        p_drop=min(1.0, drop),
        p_rise=min(1.0, rise),
        midp_drop=half_drop,
        midp_rise=half_rise,
        midp_two_sided=_double(half_drop, half_rise),
        cmh_statistic=chi2,
        cmh_pvalue=cmh_pvalue,
    )


def _tails(law: FloatArray, position: int, smallest: float) -> tuple[float, float, float]:
    """Probability of the outcome or less, of the outcome or more, and of the outcome itself."""
    # An outcome can stand outside of what was kept of a long law, before its start as well.
    at, after = max(0, position), max(0, position + 1)
    drop, rise, point = float(law[:after].sum()), float(law[at:].sum()), float(law[at:after].sum())
    return max(drop, smallest), max(rise, smallest), point


def _double(drop: float, rise: float) -> float:
    return min(1.0, 2.0 * min(drop, rise))


def _weights(pair: ArmPair) -> tuple[IntArray, bool]:
    """Whole-number weight of one candidate pass in each case, and whether it had to be rounded.

    Given the passes of both arms, the difference of mean rates is a constant plus the sum of
    c_a (1/r_a + 1/r_b) / n: proportional to c_a for equal runs.
    """
    ours, theirs = pair.candidate_runs, pair.baseline_runs
    if (ours == ours[0]).all() and (theirs == theirs[0]).all():
        return np.ones(len(ours), dtype=np.int64), False
    common = lcm(*np.union1d(ours, theirs).tolist())
    shares = 1.0 / ours + 1.0 / theirs
    spread = np.minimum(ours, pair.candidate + pair.baseline)
    if common * float((shares * spread).sum()) <= _LONGEST_LAW:
        exact = np.rint(shares * common).astype(np.int64)
        return exact // gcd(*np.unique(exact).tolist()), False
    scale = _LONGEST_LAW / float((shares * spread).sum())
    return np.maximum(1, np.rint(shares * scale)).astype(np.int64), True


def _margins(pair: ArmPair) -> tuple[IntArray, IntArray, IntArray]:
    """Runs and passes of both arms in each case, and the fewest passes that the candidate can have."""
    total, marked = pair.candidate_runs + pair.baseline_runs, pair.candidate + pair.baseline
    return total, marked, np.maximum(0, pair.candidate_runs - (total - marked))


def _length(pair: ArmPair, weights: IntArray) -> int:
    """How many values the weighted candidate passes can span."""
    _, marked, least = _margins(pair)
    return int((weights * (np.minimum(pair.candidate_runs, marked) - least)).sum()) + 1


def _null_law(pair: ArmPair, weights: IntArray, *, long: bool) -> tuple[FloatArray, int]:
    """The law of the weighted candidate passes, and where in it the outcome stands.

    It starts at the least value. When it is long, it starts and ends where chances become too small to tell
    from 0, and the outcome may stand outside.
    """
    total, marked, least = _margins(pair)
    strata = Counter(
        zip(weights.tolist(), total.tolist(), marked.tolist(), pair.candidate_runs.tolist(), strict=True)
    )
    by_weight: dict[int, list[Law]] = {}
    for (weight, *margins), count in strata.items():
        if 0 < margins[1] < margins[0]:
            law = _power(hypergeometric.law(*margins), count)
            by_weight.setdefault(weight, []).append((0, law))
    # Cases of one weight are added up before their law is spread out: it stays short until then.
    laws = [_spread(_convolved(same, long=long), weight) for weight, same in by_weight.items()]
    start, chances = _convolved(laws, long=long)
    # What was cut off and rounded is about 1e-14 in all; the whole is 1 again.
    return chances / chances.sum() if long else chances, int(
        (weights * (pair.candidate - least)).sum()
    ) - start


def _spread(law: Law, weight: int) -> Law:
    start, chances = law
    wide = np.zeros((len(chances) - 1) * weight + 1)
    wide[::weight] = chances
    return start * weight, wide


def _power(chances: FloatArray, count: int) -> FloatArray:
    """The law of a sum of `count` equal draws, by repeated squaring."""
    result = np.ones(1)
    while count:
        if count & 1:
            result = np.convolve(result, chances)
        count >>= 1
        if count:
            chances = np.convolve(chances, chances)
    return result


def _convolved(laws: list[Law], *, long: bool) -> Law:
    """The law of the sum, short laws first."""
    while len(laws) > 1:
        laws = sorted(laws, key=lambda law: len(law[1]))
        odd = [laws[-1]] if len(laws) % 2 else []
        laws = [_sum(*both, long=long) for both in zip(laws[::2], laws[1::2], strict=False)] + odd
    return laws[0] if laws else (0, np.ones(1))


def _sum(left: Law, right: Law, *, long: bool) -> Law:
    start = left[0] + right[0]
    if not long:
        return start, np.convolve(left[1], right[1])
    chances = _long_product(left[1], right[1])
    told = np.flatnonzero(chances > _NEGLIGIBLE)
    return start + int(told[0]), chances[told[0] : told[-1] + 1]


def _long_product(left: FloatArray, right: FloatArray) -> FloatArray:
    length = len(left) + len(right) - 1
    if length <= _DIRECT_PART:
        return np.convolve(left, right)
    places = np.flatnonzero(left), np.flatnonzero(right)
    if len(places[0]) * len(places[1]) <= _SPARSE * length:
        sums = np.add.outer(*places).ravel()
        products = np.multiply.outer(left[places[0]], right[places[1]]).ravel()
        return np.asarray(np.bincount(sums, products, length), dtype=np.float64)
    size = _fast_size(length)
    product = np.fft.irfft(np.fft.rfft(left, size) * np.fft.rfft(right, size), size)[:length]
    # Rounding leaves about 1e-16 either side of 0 in the far tails.
    return np.clip(product, 0.0, None)


def _fast_size(length: int) -> int:
    """A transform size of small factors, at most a third above the length."""
    return min(odd << max(0, (-(-length // odd) - 1).bit_length()) for odd in (1, 3, 5))


def _cmh(pair: ArmPair) -> tuple[float, float]:
    ours, theirs = pair.candidate_runs, pair.baseline_runs
    total, marked = ours + theirs, pair.candidate + pair.baseline
    variance = float((marked * (total - marked) * ours * theirs / (total**2 * (total - 1.0))).sum())
    if variance == 0:
        return nan, 1.0
    excess = float((pair.candidate - marked * ours / total).sum())
    statistic = excess**2 / variance
    return statistic, chi2_above(statistic, 1)
