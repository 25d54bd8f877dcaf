"""Cases in groups: an interval that knows that cases of one group rise and fall together."""

from collections.abc import Hashable, Sequence
from math import inf, nan
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, IntArray, Interval
from tiltyard_stats._special import t_quantile
from tiltyard_stats.sampled import paired_differences

ClusterMethod = Literal["cr1", "cr2"]
Groups = Sequence[object] | NDArray[Any]
_CLAIM = "groups like these"
_FEW = 10


def clustered(
    values: ArrayLike,
    groups: Groups,
    *,
    confidence: float = 0.95,
    method: ClusterMethod = "cr1",
    bounds: tuple[float, float] = (-inf, inf),
    claim: str = _CLAIM,
) -> Interval:
    """Interval of a mean over cases that come in groups.

    Parameters
    ----------
    values : array of float, shape (cases,)
        One number per case: the mean over its runs.
    groups : sequence of hashable, length cases
        The group of each case. A list, tuple or set of one group is taken as that group.
    confidence : float
        Nominal coverage.
    method : {"cr1", "cr2"}
        "cr1" is the cluster-robust error with G - 1 degrees of freedom; "cr2" its bias-reduced form with
        Satterthwaite degrees of freedom, for few or unequal groups.
    bounds : pair of float
        The range of possible means; the interval is clipped to it. (0, 1) for pass rates.
    claim : str
        What the groups stand for; carried into the result.

    Returns
    -------
    Interval
        Warns `few-clusters` under ten groups. NaN bounds with `zero-variance`.

    Raises
    ------
    ValueError
        When there is no case, a value is missing or outside the bounds, there are fewer than two groups, or a
        case names several.

    Notes
    -----
    With residuals e and G groups, the squared error is G/(G-1) sum_g (sum e)² / N² [1]_, [2]_. "cr2" divides
    each group's square by 1 - n_g/N in place of the factor G/(G-1), and takes the degrees of freedom for
    independent errors of equal variance [3]_; for equal groups both agree.

    A case of several groups ties these together, so that the sums over groups are no longer independent;
    dropping or copying it would change the question. Overlapping groups are refused.

    References
    ----------
    .. [1] Liang, K.-Y. & Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models.
           Biometrika 73.
    .. [2] Miller, E. (2024). Adding error bars to evals. arXiv 2411.00640.
    .. [3] Bell, R. M. & McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression with
           multi-stage samples. Surv. Methodol. 28.

    Examples
    --------
    >>> interval = clustered([1, 1, 0, 1, 0, 0, 1, 1], ["a", "a", "a", "b", "b", "b", "c", "c"])
    >>> print(f"{interval.estimate:.3f} ({interval.low:.3f} to {interval.high:.3f})")
    0.625 (-0.139 to 1.389)
    """
    array = check.within("values", check.sample("values", values), bounds)
    check.choice("method", method, ("cr1", "cr2"))
    tail = 0.5 + check.proportion("confidence", confidence) / 2
    code = _codes_of(groups, len(array))
    sizes = np.bincount(code).astype(np.float64)
    residuals = array - array.mean()
    sums = np.asarray(np.bincount(code, weights=residuals), dtype=np.float64)
    # Equal values such as 0.1, 0.1, 0.1 leave a rounding error that must not pass for spread.
    sums[np.abs(sums) <= 1e-14 * sizes * max(abs(float(array.mean())), 1e-300)] = 0.0
    error, df = _cr1(sums, sizes) if method == "cr1" else _cr2(sums, sizes)
    estimate, known = float(array.mean()), error > 0
    half = float(t_quantile(tail, df)) * error if known else nan
    found = {"few-clusters": len(sizes) < _FEW, "zero-variance": not known}
    return Interval(
        estimate=estimate,
        low=float(np.clip(estimate - half, *bounds)),
        high=float(np.clip(estimate + half, *bounds)),
        confidence=confidence,
        method=method,
        n=len(array),
        claim=claim,
        warnings=tuple(name for name, present in found.items() if present),
        standard_error=error,
        df=df,
    )


def clustered_diff(
    candidate: ArrayLike,
    baseline: ArrayLike,
    groups: Groups,
    *,
    confidence: float = 0.95,
    method: ClusterMethod = "cr1",
    bounds: tuple[float, float] = (-inf, inf),
    claim: str = _CLAIM,
) -> Interval:
    """Interval of a mean difference over the same cases in groups, candidate minus baseline.

    Parameters
    ----------
    candidate, baseline : array of float, shape (cases,)
        One number per case and arm, cases in the same order.
    groups, confidence, method, bounds, claim
        As for `clustered`; bounds (-1, 1) for pass rates.

    Returns
    -------
    Interval
        As for `clustered`, on the differences within cases.

    Raises
    ------
    ValueError
        As for `clustered`, and when the arms differ in their number of cases.

    Examples
    --------
    >>> clustered_diff([1, 0, 1, 1], [0, 0, 1, 0], ["a", "a", "b", "b"]).estimate
    0.5
    """
    differences = paired_differences(candidate, baseline)
    return clustered(differences, groups, confidence=confidence, method=method, bounds=bounds, claim=claim)


def _codes_of(groups: Groups, cases: int) -> IntArray:
    """The group of each case as a number."""
    names = check.listed("groups", groups)
    if len(names) != cases:
        raise ValueError(f"groups ({len(names)}) must name one group for each of the {cases} values.")
    labels = [_only(position, group) for position, group in enumerate(names)]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    if len(numbers) < 2:  # noqa: PLR2004 - one group has no spread
        raise ValueError(f"groups ({len(numbers)}) must hold at least 2: one group has no spread.")
    return np.array([numbers[label] for label in labels], dtype=np.int64)


def _only(position: int, group: Any) -> Hashable:
    if not isinstance(group, list | tuple | set | frozenset):
        missing = group is None or group != group  # noqa: PLR0124 - NaN
        if isinstance(group, Hashable) and not missing:
            return group
        raise ValueError(f"groups[{position}] ({group!r}) must name a group: text, a number or the like.")
    if len(group) != 1:
        names = ", ".join(sorted(map(str, group))) or "none"
        raise ValueError(
            f"groups[{position}] names {len(group)} groups ({names}); each case must belong to exactly one,"
            " because a case in two groups ties them together and no error over groups would hold."
        )
    return _only(position, next(iter(group)))


def _cr1(sums: FloatArray, sizes: FloatArray) -> tuple[float, float]:
    groups = len(sizes)
    return float(np.sqrt(groups / (groups - 1) * np.square(sums).sum()) / sizes.sum()), float(groups - 1)


def _cr2(sums: FloatArray, sizes: FloatArray) -> tuple[float, float]:
    total = float(sizes.sum())
    left = 1 - sizes / total
    error = float(np.sqrt((np.square(sums) / left).sum()) / total)
    # The matrix G'G of [3] for a mean: its eigenvalues weigh the independent squares in the variance.
    scale = 1 / np.sqrt(left)
    spectrum = np.outer(scale, scale) * (np.diag(sizes) - np.outer(sizes, sizes) / total)
    return error, float(np.trace(spectrum) ** 2 / np.square(spectrum).sum())
