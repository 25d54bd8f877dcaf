"""What varies: cases or runs, and what repeating a case is worth beside adding one."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan

from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._moments import by_cell
from tiltyard_stats._result import FloatArray

_METHOD = "one-way-anova"


@dataclass(frozen=True, slots=True)
class Components:
    """Variance between cases and between the runs of a case."""

    between: float
    """Variance of the true case means, at least 0; NaN for one case or one run."""
    within: float
    """Variance of the runs of a case; NaN when each case has one run."""
    icc: float
    """Intraclass correlation, between / (between + within); NaN when nothing varies."""
    n: int
    method: str
    claim: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """What several runs of a case are worth for a claim about cases like these."""

    deff: float
    """Variance of the mean over that of as many independent attempts."""
    effective_attempts: float
    """Independent attempts that the runs of a case are worth."""
    ceiling: float
    """What endless runs of a case would be worth: infinite only without correlation."""
    icc: float
    runs: int


def variance_components(
    cells: Sequence[ArrayLike] | FloatArray, *, claim: str = "cases like these"
) -> Components:
    """Split the variance of scores into that between cases and that between runs.

    Parameters
    ----------
    cells : sequence of arrays of float, each of shape (runs of the case,)
        Scores by case; a table of shape (cases, runs) will do.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    Components
        Warns `n<2` for one case or one run of each, `zero-variance` when nothing varies.

    Raises
    ------
    ValueError
        When there is no case, a case has no run, or a value is missing.

    Notes
    -----
    One-way analysis of variance: within is MSW, between is (MSB - MSW) / r, at least 0 [1]_. With unequal
    runs r is (N - sum r_i² / N) / (n - 1).

    References
    ----------
    .. [1] Searle, S. R., Casella, G. & McCulloch, C. E. (1992). Variance components, ch. 3.

    Examples
    --------
    >>> parts = variance_components([[1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0]])
    >>> print(f"between {parts.between:.3f}, within {parts.within:.3f}, icc {parts.icc:.2f}")
    between 0.130, within 0.167, icc 0.44
    """
    moments = by_cell(check.cells("cells", cells))
    sizes, cases, total = moments.n, len(moments.n), int(moments.n.sum())
    if cases < 2 or total == cases:  # noqa: PLR2004 - one case or one run has no spread
        several = moments.n > 1
        squares = float((moments.variance[several] * (sizes[several] - 1)).sum())
        within = squares / (total - cases) if total > cases else nan
        return Components(nan, within, nan, total, _METHOD, claim, ("n<2",))
    several = sizes > 1
    within = float((moments.variance[several] * (sizes[several] - 1)).sum()) / (total - cases)
    grand = float((moments.mean * sizes).sum()) / total
    over_cases = float((sizes * (moments.mean - grand) ** 2).sum()) / (cases - 1)
    typical = (total - float((sizes**2).sum()) / total) / (cases - 1)
    between = max(0.0, (over_cases - within) / typical)
    if between + within == 0:
        return Components(between, within, nan, total, _METHOD, claim, ("zero-variance",))
    return Components(between, within, between / (between + within), total, _METHOD, claim)


def design_effect(icc: float, runs: int) -> DesignEffect:
    """What `runs` runs of each case are worth in independent attempts.

    Parameters
    ----------
    icc : float
        Intraclass correlation, from 0 to 1.
    runs : int
        Runs of each case, at least 1.

    Returns
    -------
    DesignEffect
        For the sentence "5 runs of a case are worth 1.67 cases; add cases".

    Raises
    ------
    ValueError
        When `icc` is outside [0, 1] or `runs` is below 1.

    Notes
    -----
    deff = 1 + (r-1) icc and r / deff attempts per case [1]_, which never exceed 1 / icc. It speaks of a claim
    about cases like these; for a claim about these very cases each run counts in full.

    References
    ----------
    .. [1] Kish, L. (1965). Survey sampling, 5.4.

    Examples
    --------
    >>> [round(design_effect(0.5, runs).effective_attempts, 2) for runs in (1, 5, 10)]
    [1.0, 1.67, 1.82]
    """
    check.share("icc", icc)
    repeats = check.whole("runs", runs, 1)
    deff = 1.0 + (repeats - 1) * icc
    return DesignEffect(deff, repeats / deff, 1.0 / icc if icc > 0 else inf, icc, repeats)
