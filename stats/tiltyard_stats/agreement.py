"""Agreement between raters beyond chance, each with its interval."""

from collections.abc import Callable
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, Interval
from tiltyard_stats._special import normal_quantile, t_quantile

FEW_ITEMS = 30
"""Items under which the normal interval of Cohen's kappa is too narrow."""


def cohen_kappa(table: ArrayLike, *, confidence: float = 0.95, claim: str = "these items") -> Interval:
    """Cohen's kappa of two raters.

    Parameters
    ----------
    table : array of int, shape (categories, categories)
        Items by the category of the first rater (row) and of the second (column).
    confidence : float
        Nominal coverage.
    claim : str
        What the items stand for; carried into the result.

    Returns
    -------
    Interval
        Normal bounds, which may exceed 1. NaN with `one-category` when both raters used a single one and the
        same, which says nothing on agreement; NaN bounds with `zero-variance` when they always agree; code
        `few-items` under 30 items, where `fleiss_kappa` with its jackknife is the safer one.

    Raises
    ------
    ValueError
        When the table is empty, not square, or holds anything but whole numbers of at least 0.

    Notes
    -----
    (p_o - p_e) / (1 - p_e) [1]_ with the large-sample variance of [2]_.

    References
    ----------
    .. [1] Cohen, J. (1960). A coefficient of agreement for nominal scales. Educ. Psychol. Meas. 20.
    .. [2] Fleiss, J. L., Cohen, J. and Everitt, B. S. (1969). Large sample standard errors of kappa and
           weighted kappa. Psychol. Bull. 72.

    Examples
    --------
    >>> kappa = cohen_kappa([[20, 5], [10, 15]])
    >>> print(f"{kappa.estimate:.2f} ({kappa.low:.2f} to {kappa.high:.2f})")
    0.40 (0.15 to 0.65)
    """
    counts = _table("table", table)
    if counts.shape[0] != counts.shape[1]:
        raise ValueError(f"table (shape {counts.shape}) must be square.")
    z = normal_quantile(0.5 + check.proportion("confidence", confidence) / 2)
    n = int(counts.sum())
    kappa, error = _cohen(counts / n, n)
    codes = ("few-items",) if n < FEW_ITEMS else ()
    if kappa != kappa:  # noqa: PLR0124 - NaN
        codes = ("one-category", *codes)
    elif not error > 0:
        error, codes = nan, ("zero-variance", *codes)
    bounds = kappa - z * error, kappa + z * error
    return Interval(kappa, *bounds, confidence, "cohen-kappa", n, claim, codes, standard_error=error)


def _cohen(share: FloatArray, n: int) -> tuple[float, float]:
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    observed, chance = float(np.trace(share)), float(rows @ columns)
    if chance >= 1 - 1e-12:
        return nan, nan
    kappa = (observed - chance) / (1 - chance)
    # Fleiss, Cohen and Everitt (1969), formula 13, divided by (1 - p_e)².
    agree = np.diag(share) @ np.square(1 - (rows + columns) * (1 - kappa))
    cross = share * np.square(columns[:, np.newaxis] + rows)
    differ = (cross.sum() - np.trace(cross)) * (1 - kappa) ** 2
    variance = (agree + differ - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    return kappa, sqrt(variance) if variance > 1e-15 else 0.0  # noqa: PLR2004 - rounding


def fleiss_kappa(counts: ArrayLike, *, confidence: float = 0.95, claim: str = "items like these") -> Interval:
    """Fleiss' kappa of several raters.

    Parameters
    ----------
    counts : array of int, shape (items, categories)
        Raters that put an item into a category; every item has as many raters, at least 2.
    confidence : float
        Nominal coverage.
    claim : str
        What the items stand for; carried into the result.

    Returns
    -------
    Interval
        Jackknife over the items, with Student's t. NaN with `one-category` when all raters used a single
        category; NaN bounds with `n<2` for one item and `zero-variance` when no item matters.

    Raises
    ------
    ValueError
        When there is no item, a count is no whole number, or items differ in their number of raters.

    References
    ----------
    .. [1] Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychol. Bull. 76.

    Examples
    --------
    >>> round(fleiss_kappa([[3, 0], [2, 1], [0, 3], [1, 2], [3, 0], [0, 3]]).estimate, 4)
    0.5556
    """
    table = _table("counts", counts)
    raters = table.sum(axis=1)
    if (raters != raters[0]).any() or raters[0] < 2:  # noqa: PLR2004 - agreement takes two
        raise ValueError(
            f"counts (raters per item {raters.astype(int).tolist()}) must have as many raters for every "
            "item, at least 2; for missing ratings take krippendorff_alpha."
        )
    return _jackknife(table, _fleiss, "fleiss-kappa", confidence, claim)


def _fleiss(table: FloatArray) -> float:
    raters = table[0].sum()
    observed = ((table**2).sum(axis=1) - raters).mean() / (raters * (raters - 1))
    chance = np.square(table.sum(axis=0) / table.sum()).sum()
    return float((observed - chance) / (1 - chance)) if chance < 1 else nan


def krippendorff_alpha(
    counts: ArrayLike, *, confidence: float = 0.95, claim: str = "items like these"
) -> Interval:
    """Krippendorff's alpha for categories: agreement when not everyone rated everything.

    Parameters
    ----------
    counts : array of int, shape (items, categories)
        Raters that put an item into a category. Items of fewer than 2 raters cannot be paired and are left
        out (`unpaired-items`).
    confidence, claim
        As for `fleiss_kappa`.

    Returns
    -------
    Interval
        As for `fleiss_kappa`; `n` counts the items that were paired.

    Raises
    ------
    ValueError
        When no item has two ratings, or a count is no whole number.

    Notes
    -----
    1 - D_o / D_e, with the disagreement D_o within items and D_e between all ratings that can be paired
    [1]_.

    References
    ----------
    .. [1] Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability.

    Examples
    --------
    >>> round(krippendorff_alpha([[3, 0], [2, 1], [0, 2], [1, 1], [3, 0], [0, 1]]).estimate, 4)
    0.3333
    """
    table = _table("counts", counts)
    paired = table[table.sum(axis=1) >= 2]  # noqa: PLR2004 - agreement takes two
    if len(paired) == 0:
        raise ValueError(f"counts ({len(table)} items) must hold an item with at least two ratings.")
    result = _jackknife(paired, _krippendorff, "krippendorff-alpha", confidence, claim)
    left_out = ("unpaired-items",) if len(paired) < len(table) else ()
    return Interval(
        estimate=result.estimate,
        low=result.low,
        high=result.high,
        confidence=confidence,
        method=result.method,
        n=result.n,
        claim=claim,
        warnings=result.warnings + left_out,
        standard_error=result.standard_error,
        df=result.df,
    )


def _krippendorff(table: FloatArray) -> float:
    raters = table.sum(axis=1)
    total, by_category = table.sum(), table.sum(axis=0)
    observed = ((raters**2 - (table**2).sum(axis=1)) / (raters - 1)).sum() / total
    expected = (total**2 - (by_category**2).sum()) / (total * (total - 1))
    return float(1 - observed / expected) if expected > 0 else nan


def _table(name: str, values: ArrayLike) -> FloatArray:
    table = check.counts(name, values).astype(np.float64)
    if table.ndim != 2 or table.size == 0 or table.sum() == 0:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"{name} (shape {table.shape}) must be a table of at least one rated item.")
    return table


def _jackknife(
    table: FloatArray, statistic: Callable[[FloatArray], float], method: str, confidence: float, claim: str
) -> Interval:
    """Interval over items: how the statistic moves when one of them is left out."""
    level = 0.5 + check.proportion("confidence", confidence) / 2
    n, estimate = len(table), statistic(table)
    if estimate != estimate:  # noqa: PLR0124 - NaN
        return Interval(nan, nan, nan, confidence, method, n, claim, ("one-category",))
    if n < 2:  # noqa: PLR2004 - nothing to leave out
        return Interval(estimate, nan, nan, confidence, method, n, claim, ("n<2",))
    without = np.array([statistic(np.delete(table, item, axis=0)) for item in range(n)])
    error = sqrt((n - 1) * float(np.square(without - without.mean()).mean()))
    if not error > 1e-12:  # noqa: PLR2004 - rounding; NaN when a single item holds the only other category
        code = "zero-variance" if error == error else "one-category"  # noqa: PLR0124 - NaN
        return Interval(estimate, nan, nan, confidence, method, n, claim, (code,))
    half = float(t_quantile(level, n - 1)) * error
    low, high = max(-1.0, estimate - half), min(1.0, estimate + half)
    return Interval(estimate, low, high, confidence, method, n, claim, (), error, n - 1)
