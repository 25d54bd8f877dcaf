"""Margins: what is no worse, what a comparison could see, and how many more runs would settle it."""

from dataclasses import dataclass
from math import ceil, inf, nan

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Interval
from tiltyard_stats._special import t_quantile

PASS = "pass"  # noqa: S105 - a verdict
FAIL = "fail"
INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Settling:
    """How many runs would settle a margin, if the estimate holds."""

    runs: int | None
    """Runs per arm in all; None when more of them would not help."""
    exact: float
    """The same before rounding up; NaN when there is none."""
    reason: str = ""
    """Code when `runs` is None: `beyond-margin` or `unknown-bound`."""


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """Whether a difference is no worse than a margin."""

    decision: str
    """`pass`, `fail` or `inconclusive`."""
    estimate: float
    low: float
    high: float
    margin: float
    """How much worse is still accepted, at least 0, in the unit of the difference."""
    confidence: float
    """Two-sided; the test is one-sided at half of the rest."""
    n: int
    method: str
    claim: str
    warnings: tuple[str, ...] = ()


def non_inferiority(difference: Interval, margin: float) -> NonInferiority:
    """Whether candidate - baseline is no worse than a margin; higher is better.

    Parameters
    ----------
    difference : Interval
        Candidate minus baseline.
    margin : float
        How much worse is still accepted, at least 0.

    Returns
    -------
    NonInferiority
        `pass` when the lower bound is at least -margin, `fail` when the upper bound is below it, else
        `inconclusive`. A NaN bound proves neither; code `unknown-bound`.

    Raises
    ------
    ValueError
        When `margin` is negative or not finite.

    References
    ----------
    .. [1] Piaggio, G. et al. (2012). Reporting of noninferiority and equivalence randomized trials. JAMA 308.

    Examples
    --------
    >>> difference = t_interval(0.01, 0.02, 30)
    >>> non_inferiority(difference, 0.02).decision, non_inferiority(difference, 0.05).decision
    ('inconclusive', 'pass')
    """
    check.at_least("margin", margin, 0)
    if difference.unknown:
        decision = INCONCLUSIVE
    elif difference.low >= -margin:
        decision = PASS
    else:
        decision = FAIL if difference.high < -margin else INCONCLUSIVE
    codes = difference.warnings if difference.known else (*difference.warnings, "unknown-bound")
    return NonInferiority(
        decision=decision,
        estimate=difference.estimate,
        low=difference.low,
        high=difference.high,
        margin=margin,
        confidence=difference.confidence,
        n=difference.n,
        method=difference.method,
        claim=difference.claim,
        warnings=codes,
    )


def t_interval(
    estimate: float,
    standard_error: float,
    df: float,
    *,
    confidence: float = 0.95,
    n: int = 0,
    claim: str = "these questions",
) -> Interval:
    """Student's interval from an estimate, its standard error and its degrees of freedom.

    Parameters
    ----------
    estimate : float
        In the unit of the data.
    standard_error : float
        In the same unit, at least 0; 0 gives NaN bounds and `zero-variance`.
    df : float
        Degrees of freedom, above 0; infinity gives the normal interval.
    confidence : float
        Nominal coverage.
    n : int
        Observations behind it; carried into the result.
    claim : str
        What they stand for; carried into the result.

    Returns
    -------
    Interval
        estimate ± t standard_error.

    Raises
    ------
    ValueError
        When an argument is missing or out of its range.

    Examples
    --------
    >>> round(t_interval(0.03, 0.01, 50).low, 4)
    0.0099
    """
    check.finite("estimate", estimate)
    check.at_least("standard_error", standard_error, 0)
    quantile = _t(0.5 + check.proportion("confidence", confidence) / 2, df)
    half = quantile * standard_error if standard_error > 0 else nan
    return Interval(
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
        confidence=confidence,
        method="t",
        n=n,
        claim=claim,
        warnings=() if standard_error > 0 else ("zero-variance",),
        standard_error=standard_error,
        df=df,
    )


def mde(standard_error: float, df: float, *, confidence: float = 0.95, power: float = 0.8) -> float:
    """Smallest difference that a comparison of this precision would find.

    Parameters
    ----------
    standard_error : float
        Of the difference, above 0; the result has its unit.
    df : float
        Degrees of freedom, above 0; infinity for the normal formula.
    confidence : float
        Two-sided confidence at which a difference counts as found.
    power : float
        Chance to find it.

    Returns
    -------
    float
        (t_{1-alpha/2} + t_{power}) standard_error.

    Raises
    ------
    ValueError
        When `standard_error` or `df` is not above 0, or a probability is outside (0, 1).

    References
    ----------
    .. [1] Bloom, H. S. (1995). Minimum detectable effects. Evaluation Review 19.

    Examples
    --------
    >>> round(mde(0.036223, 99), 4)
    0.1025
    """
    check.above("standard_error", standard_error, 0)
    quantile = _t(0.5 + check.proportion("confidence", confidence) / 2, df)
    return (quantile + _t(check.proportion("power", power), df)) * standard_error


def _t(probability: float, df: float) -> float:
    # stdtrit is the normal quantile at infinity.
    if df != inf:
        check.above("df", df, 0)
    return float(t_quantile(probability, df))


def runs_to_settle(estimate: float, half_width: float, margin: float, runs: int) -> Settling:
    """Runs per arm that would prove non-inferiority, if the estimate holds.

    Parameters
    ----------
    estimate : float
        Candidate minus baseline; higher is better.
    half_width : float
        Distance from the estimate to the lower bound, at least 0; NaN when there is no bound.
    margin : float
        How much worse is still accepted, at least 0, in the same unit.
    runs : int
        Runs per arm so far, at least 1.

    Returns
    -------
    Settling
        runs (half_width / (estimate + margin))², rounded up: the width shrinks with the root of the runs. It
        is below the runs so far when those have settled it, and None when the estimate itself is at or beyond
        the margin, or there is no bound.

    Raises
    ------
    ValueError
        When `runs` is below 1, `margin` or `half_width` is negative, or `estimate` is missing.

    Examples
    --------
    >>> runs_to_settle(1.0, 7.187, 2.0, runs=1).runs, runs_to_settle(-3.0, 5.0, 2.0, runs=2).reason
    (6, 'beyond-margin')
    """
    check.finite("estimate", estimate)
    check.at_least("margin", margin, 0)
    check.at_least("runs", runs, 1)
    if half_width != half_width:  # noqa: PLR0124 - NaN
        return Settling(None, nan, "unknown-bound")
    check.at_least("half_width", half_width, 0)
    if estimate <= -margin:
        return Settling(None, nan, "beyond-margin")
    exact = runs * (half_width / (estimate + margin)) ** 2
    return Settling(max(1, ceil(exact)), exact)
