"""Boschloo's test of a drop: exact like Fisher's, and more powerful with few runs."""

import numpy as np

from tiltyard_stats._result import FloatArray, TestResult
from tiltyard_stats._special import log_binomial
from tiltyard_stats.two_proportions import fisher_drop

_GRID = 513
_PEAKS = 4
_REFINEMENTS = 6
# Tables of equal Fisher p value differ by rounding only; beyond that they are different tables.
_TIE = 1e-9
_MOST_TABLES = 4_000_000


def boschloo_drop(
    old_successes: int, old_n: int, new_successes: int, new_n: int, *, claim: str = "these runs"
) -> TestResult:
    """Boschloo's exact unconditional test of a drop in the pass rate, one-sided.

    Parameters
    ----------
    old_successes, old_n : int
        Passes and runs before.
    new_successes, new_n : int
        Passes and runs after.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    TestResult
        `statistic` is the difference new minus old; `pvalue` is never above that of `fisher_drop`.

    Raises
    ------
    ValueError
        When a side has no runs or more passes than runs, or the tables are too many to list (about 2,000
        runs a side): so many runs leave `fisher_drop` next to nothing to gain.

    Notes
    -----
    Fisher's p value serves as the statistic: the p value is the largest probability, over the common rate,
    of a table with a Fisher p value as small or smaller [1]_. At a nominal 10% its size is 7 to 9% where
    Fisher's is 4 to 6%; a fall from .9 to .6 in 8 runs is found with 46% in place of 25%. The largest
    probability is sought on a grid of 513 rates, refined around the highest points.

    References
    ----------
    .. [1] Boschloo, R. D. (1970). Raised conditional level of significance for the 2 x 2 table when testing
           the equality of two probabilities. Statist. Neerl. 24.

    Examples
    --------
    >>> round(boschloo_drop(8, 8, 5, 8).pvalue, 3), round(fisher_drop(8, 8, 5, 8).pvalue, 3)
    (0.041, 0.1)
    """
    fisher = fisher_drop(old_successes, old_n, new_successes, new_n)
    if (old_n + 1) * (new_n + 1) > _MOST_TABLES:
        raise ValueError(f"old_n ({old_n}) and new_n ({new_n}) are too many to list; use fisher_drop there.")
    region = _fisher_table(int(old_n), int(new_n))
    extreme = region <= fisher.pvalue * (1 + _TIE)
    return TestResult(
        statistic=fisher.statistic,
        pvalue=min(fisher.pvalue, _largest_probability(extreme.astype(np.float64))),
        method="boschloo",
        n=fisher.n,
        claim=claim,
        alternative="less",
    )


def _fisher_table(old_n: int, new_n: int) -> FloatArray:
    """Fisher's p value of each table, shape (old passes, new passes)."""
    old, new = np.arange(old_n + 1), np.arange(new_n + 1)
    total = np.arange(old_n + new_n + 1)[:, np.newaxis]
    rest = total - new
    possible = (rest >= 0) & (rest <= old_n)
    logs = log_binomial(old_n, np.clip(rest, 0, old_n)) + log_binomial(new_n, new)
    chance = np.where(possible, np.exp(logs - log_binomial(old_n + new_n, total)), 0.0)
    tails = np.cumsum(chance, axis=1)
    return np.asarray(tails[old[:, np.newaxis] + new, new], dtype=np.float64)


def _largest_probability(extreme: FloatArray) -> float:
    """The largest probability of the marked tables over the common rate."""
    edges = np.linspace(0.0, 1.0, _GRID)
    values = _probability(extreme, edges)
    step = edges[1]
    for peak in np.argsort(values)[-_PEAKS:]:
        centre, width = edges[peak], step
        for _ in range(_REFINEMENTS):
            rates = np.clip(np.linspace(centre - width, centre + width, 21), 0.0, 1.0)
            near = _probability(extreme, rates)
            centre, width = rates[near.argmax()], width / 10
            values[peak] = max(values[peak], near.max())
    return float(min(1.0, values.max()))


def _probability(extreme: FloatArray, rates: FloatArray) -> FloatArray:
    old_n, new_n = extreme.shape[0] - 1, extreme.shape[1] - 1
    old, new = _binomial_law(old_n, rates), _binomial_law(new_n, rates)
    return np.asarray(((old @ extreme) * new).sum(axis=1), dtype=np.float64)


def _binomial_law(n: int, rates: FloatArray) -> FloatArray:
    """Binomial probabilities, shape (rates, n + 1)."""
    k = np.arange(n + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rates)[:, np.newaxis] * k + np.log1p(-rates)[:, np.newaxis] * (n - k)
    # 0 log 0 is 0 here: no failure in n passes at rate 1 is certain.
    return np.asarray(
        np.exp(log_binomial(n, k) + np.nan_to_num(logs, nan=0.0, neginf=-np.inf)), dtype=np.float64
    )
