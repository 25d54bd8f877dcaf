"""Repeated attempts: how often at least one of k passes, and how often all k do."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, IntArray, Interval
from tiltyard_stats.bootstrap import bootstrap_mean
from tiltyard_stats.sampled import sampled

RepeatMethod = Literal["t", "source"]
_CLAIM = "cases like these"


@dataclass(frozen=True, slots=True)
class RepeatRate(Interval):
    """A pass@k or pass^k with its interval over cases."""

    k: int = 1
    """Attempts that the rate speaks about."""
    dropped: int = 0
    """Cases left out because they have fewer than k runs."""


def pass_at_k(
    passes: ArrayLike,
    runs: ArrayLike,
    k: int,
    *,
    confidence: float = 0.95,
    method: RepeatMethod = "t",
    rng: np.random.Generator | None = None,
    claim: str = _CLAIM,
) -> RepeatRate:
    """Chance that at least one of k attempts passes, averaged over cases.

    Parameters
    ----------
    passes : array of int, shape (cases,)
        Passes of each case.
    runs : int or array of int, shape (cases,)
        Runs of each case. Cases of fewer than `k` are left out and counted in `dropped`.
    k : int
        Attempts, at least 1.
    confidence : float
        Nominal coverage.
    method : {"t", "source"}
        "t" is Student's t over cases, or Wilson's interval when each case is at 0 or 1. "source" is the
        percentile bootstrap over cases.
    rng : numpy.random.Generator, optional
        For "source"; seeded with 0 by default, so that a report can be made again.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    RepeatRate
        Inside [0, 1]. Warns `short-cases` when cases were left out; NaN bounds with `n<2` or `zero-variance`.

    Raises
    ------
    ValueError
        When there is no case, no case has `k` runs, a case has more passes than runs, or `k` is below 1.

    Notes
    -----
    1 - C(n-c, k) / C(n, k) for c passes in n runs, unbiased for each case [1]_. The interval takes the cases
    for a sample also where the design holds them fixed: its claim is about cases like these.

    References
    ----------
    .. [1] Chen, M. et al. (2021). Evaluating large language models trained on code. arXiv 2107.03374.

    Examples
    --------
    >>> rate = pass_at_k([2, 1, 0, 2, 1], 2, k=2)
    >>> print(f"{rate.estimate:.2f} ({rate.low:.2f} to {rate.high:.2f}), {rate.method}")
    0.80 (0.38 to 0.96), wilson
    """
    used, total, dropped = _long_enough(passes, runs, k)
    return _over_cases(pass_at_k_by_case(used, total, k), k, dropped, confidence, method, rng, claim)


def pass_hat_k(
    passes: ArrayLike,
    runs: ArrayLike,
    k: int,
    *,
    confidence: float = 0.95,
    method: RepeatMethod = "t",
    rng: np.random.Generator | None = None,
    claim: str = _CLAIM,
) -> RepeatRate:
    """Chance that all of k attempts pass, averaged over cases.

    Parameters
    ----------
    passes, runs, k, confidence, method, rng, claim
        As for `pass_at_k`.

    Returns
    -------
    RepeatRate
        As for `pass_at_k`.

    Raises
    ------
    ValueError
        As for `pass_at_k`.

    Notes
    -----
    C(c, k) / C(n, k) for c passes in n runs, unbiased for each case [1]_. The power of the mean pass rate
    would be too low: a case that always passes keeps passing.

    References
    ----------
    .. [1] Yao, S. et al. (2024). tau-bench: a benchmark for tool-agent-user interaction in real-world
           domains. arXiv 2406.12045.

    Examples
    --------
    >>> round(pass_hat_k([4, 2, 0, 4], 4, k=2).estimate, 3)
    0.542
    """
    used, total, dropped = _long_enough(passes, runs, k)
    return _over_cases(pass_hat_k_by_case(used, total, k), k, dropped, confidence, method, rng, claim)


def pass_at_k_by_case(passes: ArrayLike, runs: ArrayLike, k: int) -> FloatArray:
    """Chance of each case that at least one of k attempts passes.

    Parameters
    ----------
    passes, runs : int or array of int, any shapes that broadcast
        Passes and runs of each case; `k` must not exceed any of the runs.
    k : int
        Attempts, at least 1.

    Returns
    -------
    array of float
        In the broadcast shape.

    Raises
    ------
    ValueError
        When `k` is below 1 or above a number of runs, or a case has more passes than runs.

    Examples
    --------
    >>> pass_at_k_by_case([0, 1, 2], 4, k=2).tolist()
    [0.0, 0.5, 0.8333333333333334]
    """
    passed, total = check.trials("passes", passes, "runs", runs)
    return 1.0 - _all_drawn(total - passed, total, _attempts(k, int(total.min())))


def pass_hat_k_by_case(passes: ArrayLike, runs: ArrayLike, k: int) -> FloatArray:
    """Chance of each case that all of k attempts pass.

    Parameters
    ----------
    passes, runs, k
        As for `pass_at_k_by_case`.

    Returns
    -------
    array of float
        In the broadcast shape.

    Raises
    ------
    ValueError
        As for `pass_at_k_by_case`.

    Examples
    --------
    >>> pass_hat_k_by_case([1, 2, 4], 4, k=2).tolist()
    [0.0, 0.16666666666666666, 1.0]
    """
    passed, total = check.trials("passes", passes, "runs", runs)
    return _all_drawn(passed, total, _attempts(k, int(total.min())))


def _attempts(k: int, fewest: int) -> int:
    whole = check.whole("k", k, 1)
    if whole > fewest:
        raise ValueError(f"k ({k}) must not exceed the runs of a case ({fewest}).")
    return whole


def _all_drawn(marked: ArrayLike, total: ArrayLike, k: int) -> FloatArray:
    """C(marked, k) / C(total, k) as a product, which cannot overflow."""
    share = np.ones(np.shape(total))
    for drawn in range(k):
        share = share * np.maximum(np.asarray(marked) - drawn, 0) / (np.asarray(total) - drawn)
    return share


def _long_enough(passes: ArrayLike, runs: ArrayLike, k: int) -> tuple[IntArray, IntArray, int]:
    passed, total = check.cases("passes", passes, "runs", runs)
    keep = total >= check.whole("k", k, 1)
    if not keep.any():
        raise ValueError(f"k ({k}) must not exceed the runs of every case (at most {total.max()}).")
    return passed[keep], total[keep], int((~keep).sum())


def _over_cases(
    values: FloatArray,
    k: int,
    dropped: int,
    confidence: float,
    method: str,
    rng: np.random.Generator | None,
    claim: str,
) -> RepeatRate:
    check.choice("method", method, ("t", "source"))
    shares = np.clip(values, 0.0, 1.0)
    if method == "source":
        result = bootstrap_mean(shares, confidence=confidence, method="percentile", rng=rng, claim=claim)
    else:
        result = sampled(shares, confidence=confidence, bounds=(0.0, 1.0), claim=claim)
    return RepeatRate(
        estimate=result.estimate,
        low=result.low,
        high=result.high,
        confidence=confidence,
        method=result.method,
        n=result.n,
        claim=claim,
        warnings=result.warnings + (("short-cases",) if dropped else ()),
        standard_error=result.standard_error,
        df=result.df,
        k=k,
        dropped=dropped,
    )
