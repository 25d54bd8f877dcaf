"""Cases held fixed: the pass rate on this very set, with the noise of the runs alone."""

from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, IntArray, Interval
from tiltyard_stats._special import normal_quantile
from tiltyard_stats.proportion import wilson_bounds

FixedMethod = Literal["auto", "wilson-neff", "wilson", "source"]
METHODS = ("auto", "wilson-neff", "wilson", "source")
ENOUGH_FLAKY = 10
"""Flaky cases from which their own variance is a sound estimate."""


@dataclass(frozen=True, slots=True)
class FixedRate(Interval):
    """A pass rate on fixed cases with what its interval rests on."""

    n_eff: float = nan
    """Independent attempts that would be worth as much; NaN for "source"."""
    variance: float = nan
    """Unbiased variance of the estimate, given the cases; NaN when a case has one run."""
    flaky: int = 0
    """Cases that passed in some of their runs."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The columns behind one or many fixed rates, leading axes kept."""

    estimate: FloatArray
    variance: FloatArray
    """NaN where a case has one run."""
    outer: FloatArray
    """The largest variance that the estimate allows."""
    flaky: IntArray


def fixed_cases(
    passes: ArrayLike,
    runs: ArrayLike,
    *,
    confidence: float = 0.95,
    method: FixedMethod = "auto",
    claim: str = "these cases",
) -> FixedRate:
    """Mean pass rate of fixed cases.

    Parameters
    ----------
    passes : array of int, shape (cases,)
        Passes of each case.
    runs : int or array of int, shape (cases,)
        Runs of each case.
    confidence : float
        Nominal coverage.
    method : {"auto", "wilson-neff", "wilson", "source"}
        "auto" is "wilson-neff" from ten flaky cases up, else "wilson". "source" is the normal interval.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    FixedRate
        Inside [0, 1] but for "source". Warns `zero-variance` when no case flakes (with NaN bounds for
        "source"), `few-flaky` under ten flaky cases and `one-run` when a case has a single run.

    Raises
    ------
    ValueError
        When there is no case, a case has more passes than runs, or, for "wilson-neff" and "source", a case
        has one run: it has no variance of its own.

    Notes
    -----
    With p_i the rate of case i in r_i runs, the estimate is the mean of p_i and its variance given the cases
    is v = sum p_i (1-p_i) / (r_i-1) / n², unbiased. "wilson-neff" is Wilson's interval [1]_ with
    p (1-p) / v independent attempts, never fewer than the attempts made, n r: a sum of passes with different
    rates is never more dispersed than a binomial of the same mean [2]_. "wilson" takes n r itself, a valid
    outer bound; for unequal runs, the largest variance that the mean rate allows serves in its place.

    With few flaky cases v is a poor guide: of 100 cases run twice, three that flake among the passing half
    leave "wilson-neff" with 81%, six with 90%. Hence "auto". With no flaky case a normal interval has no
    width, though 20 of 20 on two runs is no proof of 100%.

    References
    ----------
    .. [1] Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA
           22.
    .. [2] Hoeffding, W. (1956). On the distribution of the number of successes in independent trials. AMS 27.

    Examples
    --------
    >>> rate = fixed_cases([2] * 40 + [0] * 40 + [1] * 20, 2)
    >>> print(f"{rate.estimate:.3f} ({rate.low:.3f} to {rate.high:.3f}), {rate.method}")
    0.500 (0.456 to 0.544), wilson-neff
    >>> fixed_cases([2] * 20, 2).warnings
    ('zero-variance', 'few-flaky')
    """
    passed, total = check.cases("passes", passes, "runs", runs)
    check.proportion("confidence", confidence)
    chosen = _method(method, passed, total)
    kernel = fixed_kernel(passed, total)
    v, theta = float(kernel.variance), float(kernel.estimate)
    n_eff = float(effective(kernel, total, chosen))
    low, high, error = _bounds(kernel, n_eff, chosen, confidence)
    return FixedRate(
        estimate=theta,
        low=low,
        high=high,
        confidence=confidence,
        method=chosen,
        n=int(total.sum()),
        claim=claim,
        warnings=_codes(kernel, total),
        standard_error=error,
        n_eff=n_eff,
        variance=v,
        flaky=int(kernel.flaky),
    )


def _method(method: str, passes: IntArray, runs: IntArray) -> str:
    check.choice("method", method, METHODS)
    single = int((runs == 1).sum())
    if method == "auto":
        flaky = ((passes > 0) & (passes < runs)).sum()
        return "wilson-neff" if flaky >= ENOUGH_FLAKY and not single else "wilson"
    if single and method != "wilson":
        raise ValueError(
            f"runs (1 in {single} cases) must be at least 2 in each case for method {method!r}: a single run"
            " has no variance; use 'wilson' or 'auto'."
        )
    return method


def _codes(kernel: Kernel, runs: IntArray) -> tuple[str, ...]:
    flaky = int(kernel.flaky)
    found = {"zero-variance": flaky == 0, "few-flaky": flaky < ENOUGH_FLAKY, "one-run": (runs == 1).any()}
    return tuple(code for code, present in found.items() if present)


def _bounds(kernel: Kernel, n_eff: float, method: str, confidence: float) -> tuple[float, float, float]:
    """Low, high and standard error."""
    z, theta = normal_quantile(0.5 + confidence / 2), float(kernel.estimate)
    if method == "source":
        error = float(np.sqrt(kernel.variance))
        half = z * error if error > 0 else nan
        return theta - half, theta + half, error
    low, high = wilson_bounds(kernel.estimate, n_eff, z)
    return float(low), float(high), float(np.sqrt(theta * (1 - theta) / n_eff))


def fixed_kernel(passes: ArrayLike, runs: ArrayLike) -> Kernel:
    """Estimate, variance and its bound for many data sets at once.

    Parameters
    ----------
    passes : array of int, shape (..., cases)
        Passes of each case.
    runs : array of int, shape (cases,)
        Runs of each case.
    """
    passed, total = np.asarray(passes), np.asarray(runs)
    rates = passed / total
    cases = rates.shape[-1]
    # A spread over a single run is unknown, not zero.
    spread = rates * (1 - rates) / np.where(total > 1, total - 1, np.nan)
    estimate = np.asarray(rates.mean(axis=-1))
    return Kernel(
        estimate=estimate,
        variance=np.asarray(spread.sum(axis=-1) / cases**2),
        outer=_largest_variance(estimate, total),
        flaky=np.asarray(((passed > 0) & (passed < total)).sum(axis=-1)),
    )


def effective(kernel: Kernel, runs: IntArray, method: str) -> FloatArray:
    """Independent attempts that carry the same variance."""
    if method == "source":
        return np.full(kernel.estimate.shape, nan)
    use = (kernel.variance > 0) & (method == "wilson-neff")
    variance = np.where(use, np.minimum(kernel.variance, kernel.outer), kernel.outer)
    binomial = kernel.estimate * (1 - kernel.estimate)
    # At 0 and 1 the largest variance shrinks with the rate; the attempts keep their limit.
    limit = len(runs) * float(runs.min())
    n_eff = np.divide(binomial, variance, out=np.full(binomial.shape, limit), where=binomial > 0)
    return np.asarray(n_eff, dtype=np.float64)


def _largest_variance(estimate: FloatArray, runs: IntArray) -> FloatArray:
    """The largest sum p (1-p) / r / n² over rates of the given mean.

    With equal runs it is reached at equal rates [Hoeffding]. Otherwise, for a mean up to 1/2, p_i =
    max(0, 1 - m r_i) / 2 for the multiplier m that gives the mean (Lagrange); above, all rates are mirrored.
    """
    cases = len(runs)
    if (runs == runs[0]).all():
        return np.asarray(estimate * (1 - estimate) / (cases * float(runs[0])))
    ascending = np.sort(runs)
    ranks, sums = np.arange(1, cases + 1), np.cumsum(ascending)
    wanted = cases * np.minimum(estimate, 1 - estimate)
    # The sum of the rates at m = 1 / r_k, where only the cases before the k-th still have one above 0.
    reached = (ranks - sums / ascending) / 2
    last = np.maximum(np.searchsorted(reached, wanted), 1) - 1
    multiplier = (ranks[last] - 2 * wanted) / sums[last]
    rates = np.maximum(0.0, 1 - multiplier[..., np.newaxis] * runs) / 2
    return np.asarray((rates * (1 - rates) / runs).sum(axis=-1) / cases**2)
