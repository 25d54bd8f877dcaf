"""Equivalence: parity has to be proven, no significant difference is not a proof of it."""

from dataclasses import dataclass
from math import ceil, nan, sqrt

from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._moments import Moments, by_cell
from tiltyard_stats._result import Decision, Interval
from tiltyard_stats._special import normal_quantile, t_cdf, t_quantile

BLOCKED = "blocked"
PARITY = "parity"
DIFFERENT = "different"
UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests of a difference against both limits."""

    estimate: float
    """The difference a - b, in the unit of the data."""
    low: float
    """Lower bound at confidence 1 - 2 alpha: parity is shown when both bounds lie inside the limits."""
    high: float
    """Upper bound at confidence 1 - 2 alpha."""
    pvalue: float
    """The larger of the two; parity is shown when it is below alpha. NaN when the data cannot give one."""
    p_lower: float
    """P value against a difference at or below the lower limit."""
    p_upper: float
    """P value against a difference at or above the upper limit."""
    confidence: float
    """Coverage of the interval, 1 - 2 alpha."""
    df: float
    n: int
    method: str
    claim: str
    """`blocked` when there is no variance to judge by."""
    warnings: tuple[str, ...] = ()


def tost_paired(
    a: ArrayLike, b: ArrayLike, low: float, high: float, *, alpha: float = 0.05, claim: str = "these pairs"
) -> Equivalence:
    """Two one-sided t tests of a mean paired difference.

    Parameters
    ----------
    a, b : array of float, shape (n,)
        Observations in pairs, in one unit.
    low, high : float
        The limits of what counts as equal, in the same unit.
    alpha : float
        Level of each test.
    claim : str
        What the pairs stand for; carried into the result.

    Returns
    -------
    Equivalence
        NaN p values and claim `blocked` for one pair (`n<2`) or differences without variance
        (`zero-variance`): identical pairs are no proof of parity.

    Raises
    ------
    ValueError
        When there is no pair, the sides differ in length, a value is missing, or `low` is not below `high`.

    Notes
    -----
    The larger of P(T > (d - low)/se) and P(T < (d - high)/se) with n - 1 degrees of freedom [1]_; the same as
    asking whether the 1 - 2 alpha interval lies inside the limits.

    References
    ----------
    .. [1] Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach.
           J. Pharmacokinet. Biopharm. 15.

    Examples
    --------
    >>> result = tost_paired([10, 12, 11, 13], [10.5, 11.5, 11, 12.5], -2, 2)
    >>> result.pvalue < 0.05
    True
    """
    left, right = check.sample("a", a), check.sample("b", b)
    if len(left) != len(right):
        raise ValueError(f"a ({len(left)} values) and b ({len(right)} values) must be pairs.")
    moments = by_cell([left - right])
    variance = float(moments.variance[0]) / len(left)
    estimate = float(moments.mean[0])
    return _tost(estimate, variance, len(left) - 1, (low, high), alpha, (len(left), "tost-paired", claim))


def tost_welch(
    a: ArrayLike, b: ArrayLike, low: float, high: float, *, alpha: float = 0.05, claim: str = "these runs"
) -> Equivalence:
    """Two one-sided t tests of a difference of means, with variances of their own.

    Parameters
    ----------
    a, b : array of float, shapes (n,) and (m,)
        Independent observations, in one unit.
    low, high, alpha, claim
        As for `tost_paired`.

    Returns
    -------
    Equivalence
        As for `tost_paired`.

    Raises
    ------
    ValueError
        When a side is empty, a value is missing, or `low` is not below `high`.

    Notes
    -----
    As `tost_paired`, with Welch's standard error and degrees of freedom [1]_.

    References
    ----------
    .. [1] Welch, B. L. (1947). The generalization of Student's problem. Biometrika 34.

    Examples
    --------
    >>> tost_welch([10, 12, 11, 13], [10.5, 11.5, 11, 12.5], -1, 1).pvalue < 0.05
    False
    """
    moments = by_cell([check.sample("a", a), check.sample("b", b)])
    variance, df = _welch(moments)
    estimate = float(moments.mean[0] - moments.mean[1])
    return _tost(estimate, variance, df, (low, high), alpha, (int(moments.n.sum()), "tost-welch", claim))


def _welch(moments: Moments) -> tuple[float, float]:
    parts = moments.variance / moments.n
    variance = float(parts.sum())
    if not variance > 0:
        return variance, nan
    return variance, variance**2 / float((parts**2 / (moments.n - 1)).sum())


def _tost(
    estimate: float,
    variance: float,
    df: float,
    limits: tuple[float, float],
    alpha: float,
    about: tuple[int, str, str],
) -> Equivalence:
    low, high = check.ordered("low", limits[0], "high", limits[1])
    confidence = 1 - 2 * check.proportion("alpha", alpha)
    n, method, claim = about
    if not variance > 0:
        code = "zero-variance" if variance == 0 else "n<2"
        return Equivalence(estimate, nan, nan, nan, nan, nan, confidence, nan, n, method, BLOCKED, (code,))
    error = sqrt(variance)
    p_lower = float(t_cdf((low - estimate) / error, df))
    p_upper = float(t_cdf((estimate - high) / error, df))
    half = float(t_quantile(1 - alpha, df)) * error
    return Equivalence(
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
        pvalue=max(p_lower, p_upper),
        p_lower=p_lower,
        p_upper=p_upper,
        confidence=confidence,
        df=df,
        n=n,
        method=method,
        claim=claim,
    )


def parity(interval: Interval, low: float, high: float) -> Decision:
    """Whether an interval proves parity, whatever the statistic behind it.

    Parameters
    ----------
    interval : Interval
        At confidence 1 - 2 alpha for a test at alpha. For pass rates of the same questions: the MOVER
        interval of their difference, not a t interval.
    low, high : float
        The limits of what counts as equal, on the scale of the interval (a ratio: around 1).

    Returns
    -------
    Decision
        `parity` when the interval lies inside the limits, `different` when it lies outside them, else
        `unproven`. Code `unknown-bound` when a bound is NaN, which proves nothing.

    Raises
    ------
    ValueError
        When `low` is not below `high`.

    Examples
    --------
    >>> parity(Interval(0.01, -0.03, 0.05, 0.9, "t", 40, "these questions"), -0.1, 0.1).verdict
    'parity'
    """
    check.ordered("low", low, "high", high)
    if not interval.known:
        return Decision(UNPROVEN, ("unknown-bound",))
    if interval.low > low and interval.high < high:
        return Decision(PARITY)
    return Decision(DIFFERENT if interval.low > high or interval.high < low else UNPROVEN)


def parity_pairs(discordance: float, margin: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Pairs needed to show parity of two pass rates that are truly equal.

    Parameters
    ----------
    discordance : float
        Share of pairs that come out differently on the two sides, in (0, 1).
    margin : float
        Largest difference that counts as equal, in (0, 1).
    alpha : float
        Level of each one-sided test.
    power : float
        Chance to show parity.

    Returns
    -------
    int
        Pairs, rounded up.

    Raises
    ------
    ValueError
        When an argument is not strictly between 0 and 1.

    Notes
    -----
    (z_{1-alpha} + z_{1-beta/2})² psi / m², as both tests must succeed and the variance of a pair at no
    difference is the discordance psi [1]_. With 3 to 20 runs parity of pass rates is out of reach.

    References
    ----------
    .. [1] Liu, J., Hsueh, H., Hsieh, E. and Chen, J. J. (2002). Tests for equivalence or non-inferiority for
           paired binary data. Stat. Med. 21.

    Examples
    --------
    >>> parity_pairs(0.2, 0.1)
    172
    """
    check.proportion("discordance", discordance)
    check.proportion("margin", margin)
    z = normal_quantile(1 - check.proportion("alpha", alpha))
    z += normal_quantile((1 + check.proportion("power", power)) / 2)
    return ceil(z**2 * discordance / margin**2)
