"""Cases as a sample: one number per case, and a claim about cases like these."""

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, Interval
from tiltyard_stats.mean import mean_interval
from tiltyard_stats.proportion import wilson

_CLAIM = "cases like these"
_RATES = (0.0, 1.0)


def sampled(
    values: ArrayLike,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = (-inf, inf),
    claim: str = _CLAIM,
) -> Interval:
    """Interval of a mean over cases that were drawn from many.

    Parameters
    ----------
    values : array of float, shape (cases,)
        One number per case: the mean over its runs (of passes, scores, tokens, seconds).
    confidence : float
        Nominal coverage.
    bounds : pair of float
        The range of possible values; the interval is clipped to it. (0, 1) for pass rates.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    Interval
        With NaN bounds and a warning for one case (`n<2`) or equal values (`zero-variance`).

    Raises
    ------
    ValueError
        When there is no case, a value is missing or outside the bounds.

    Notes
    -----
    Student's t with cases - 1 degrees of freedom [1]_: the difference between cases is noise for a claim
    about cases like these, and more runs of a case do not take it away. Attempts counted as independent would
    cover 72% in place of 95% (20 cases, 5 runs). With bounds (0, 1) and each value 0 or 1, the values are
    passes and Wilson's interval serves, which has a width where t has none.

    References
    ----------
    .. [1] Miller, E. (2024). Adding error bars to evals. arXiv 2411.00640.

    Examples
    --------
    >>> interval = sampled([1.0, 0.5, 0.0, 1.0, 0.75], bounds=(0, 1))
    >>> print(f"{interval.estimate:.2f} ({interval.low:.2f} to {interval.high:.2f})")
    0.65 (0.13 to 1.00)
    >>> sampled([1.0, 1.0, 1.0, 1.0], bounds=(0, 1)).method
    'wilson'
    """
    array = check.within("values", check.sample("values", values), bounds)
    if tuple(bounds) == _RATES and np.isin(array, _RATES).all():
        return wilson(int(array.sum()), len(array), confidence=confidence, claim=claim)
    return mean_interval(array, confidence=confidence, bounds=bounds, claim=claim)


def sampled_diff(
    candidate: ArrayLike,
    baseline: ArrayLike,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = (-inf, inf),
    claim: str = _CLAIM,
) -> Interval:
    """Interval of a mean difference over the same cases, candidate minus baseline.

    Parameters
    ----------
    candidate, baseline : array of float, shape (cases,)
        One number per case and arm, cases in the same order.
    confidence : float
        Nominal coverage.
    bounds : pair of float
        The range of possible differences; the interval is clipped to it. (-1, 1) for pass rates.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    Interval
        With NaN bounds and a warning for one case (`n<2`) or equal differences (`zero-variance`).

    Raises
    ------
    ValueError
        As for `sampled`, and when the arms differ in their number of cases.

    Notes
    -----
    Student's t on the differences within cases [1]_: what makes a case hard for both arms cancels.

    References
    ----------
    .. [1] Student (1908). The probable error of a mean. Biometrika 6.

    Examples
    --------
    >>> interval = sampled_diff([0.5, 0.0, 1.0, 0.5], [1.0, 0.5, 1.0, 0.75])
    >>> print(f"{interval.estimate:.3f} ({interval.low:.3f} to {interval.high:.3f})")
    -0.312 (-0.693 to 0.068)
    """
    differences = paired_differences(candidate, baseline)
    return mean_interval(differences, confidence=confidence, bounds=bounds, claim=claim)


def paired_differences(candidate: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """Candidate minus baseline, case by case."""
    ours, theirs = check.sample("candidate", candidate), check.sample("baseline", baseline)
    if len(ours) != len(theirs):
        raise ValueError(
            f"candidate ({len(ours)} cases) and baseline ({len(theirs)} cases) must hold the same cases."
        )
    return ours - theirs
