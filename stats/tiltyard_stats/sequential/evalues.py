"""E values: evidence that may be looked at, stopped and extended at any time."""

from dataclasses import dataclass
from math import exp, inf, log, nan

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray
from tiltyard_stats._special import beta_cdf, log_beta

_LARGEST = 709.0
"""Exponents above this overflow; such an e value is infinite."""


@dataclass(frozen=True, slots=True)
class EProcess:
    """E values and confidence sequence of a mean after each observation, shape (n,)."""

    evalue: FloatArray
    """Against a mean of 0. Reject at any time at which it reaches 1/alpha."""
    estimate: FloatArray
    low: FloatArray
    """Lower bounds that hold at all times together; -infinity early on, NaN without variance."""
    high: FloatArray
    confidence: float
    n: int
    method: str
    claim: str
    warnings: tuple[str, ...] = ()


def t_evalue(t: float, n: int, *, g: float = 1.0) -> float:
    """E value of a one-sample t statistic against a mean of 0.

    Parameters
    ----------
    t : float
        mean / (sd / sqrt n).
    n : int
        Observations, at least 2.
    g : float
        Prior variance of the standardised effect, above 0.

    Returns
    -------
    float
        At least (1 + n g)^-1/2. Reject when it reaches 1/alpha.

    Raises
    ------
    ValueError
        When `n` is below 2, `g` is not above 0 or `t` is missing.

    Notes
    -----
    (1 + n g)^{-1/2} [(1 + t²/nu) / (1 + t²/(nu (1 + n g)))]^{n/2} with nu = n - 1: the Bayes factor for a
    normal prior on the standardised effect and the right Haar prior on the scale [1]_, which is an e-process
    for normal observations whatever their scale [2]_.

    References
    ----------
    .. [1] Gonen, M., Johnson, W. O., Lu, Y. and Westfall, P. H. (2005). The Bayesian two-sample t test. Am.
           Stat. 59.
    .. [2] Perez-Ortiz, M. F., Lardy, T., de Heide, R. and Grunwald, P. (2024). E-statistics, group invariance
           and anytime-valid testing. Ann. Stat. 52.

    Examples
    --------
    >>> round(t_evalue(2.5, 8), 3)
    2.931
    """
    check.finite("t", t)
    check.whole("n", n, 2)
    check.above("g", g, 0)
    square = np.asarray(float(t) ** 2)
    value = float(log_t_evalue(square, np.asarray(float(n)), np.asarray(n - 1.0), g))
    return exp(value) if value < _LARGEST else inf


def log_t_evalue(square: FloatArray, size: FloatArray, df: FloatArray, g: float) -> FloatArray:
    """Logarithm of the e value of t², for an effect of size `size` and degrees of freedom of any kind."""
    shrink = 1 + size * g
    fit = np.log1p(square / df) - np.log1p(square / (df * shrink))
    return np.asarray((df + 1) / 2 * fit - np.log(shrink) / 2, dtype=np.float64)


def critical_t(size: FloatArray, df: FloatArray, g: float, alpha: float) -> FloatArray:
    """The |t| at which the e value reaches 1/alpha; infinite while no t does."""
    shrink = 1 + size * g
    k = np.exp(2 / (df + 1) * (np.log(shrink) / 2 - log(alpha)))
    with np.errstate(divide="ignore", invalid="ignore"):
        square = df * (k - 1) * shrink / (shrink - k)
        return np.where(k < shrink, np.sqrt(np.maximum(square, 0)), inf)


def t_eprocess(
    values: ArrayLike, *, g: float = 1.0, confidence: float = 0.95, claim: str = "these pairs"
) -> EProcess:
    """E-process and confidence sequence of a mean, after each observation.

    Parameters
    ----------
    values : array of float, shape (n,)
        Observations in the order in which they came, such as differences of interleaved pairs.
    g : float
        Prior variance of the standardised effect, above 0.
    confidence : float
        Coverage of the sequence as a whole.
    claim : str
        What the observations stand for; carried into the result.

    Returns
    -------
    EProcess
        Before there are two different observations the e value is 1 and the bounds are NaN; when all are
        equal the code is `zero-variance` (`n<2` for one).

    Raises
    ------
    ValueError
        When there is no value, one is missing, or `g` is not above 0.

    Notes
    -----
    `t_evalue` at each n, inverted for the bounds: mean ± s/sqrt n sqrt(nu (k-1)(1+ng)/(1+ng-k)) with
    k = (sqrt(1+ng)/alpha)^{2/n} [1]_, infinite while k >= 1 + ng. Exact for normal observations. The mean of
    log cost differences is not the log ratio of mean costs when the arms differ in spread: for costs take
    `cost_evalue`.

    References
    ----------
    .. [1] Wang, H. and Ramdas, A. (2024). Anytime-valid t-tests and confidence sequences for Gaussian means
           with unknown variance. Sequential Analysis 43.

    Examples
    --------
    >>> process = t_eprocess([-0.5, -0.6, -0.4, -0.55, -0.45, -0.5])
    >>> bool(process.evalue[-1] > 20), bool(process.high[-1] < 0)
    (True, True)
    """
    data = check.sample("values", values)
    check.above("g", g, 0)
    alpha = 1 - check.proportion("confidence", confidence)
    n = np.arange(1.0, len(data) + 1)
    mean, variance = _running(data, n)
    known = variance > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(known, n - 1, np.nan)
        error = np.sqrt(variance / n)
        evalue = np.exp(np.minimum(log_t_evalue((mean / error) ** 2, n, df, g), _LARGEST))
        half = critical_t(n, df, g, alpha) * np.where(known, error, np.nan)
    codes = () if known[-1] else ("n<2",) if len(data) == 1 else ("zero-variance",)
    return EProcess(
        evalue=np.where(known, evalue, 1.0),
        estimate=mean,
        low=mean - half,
        high=mean + half,
        confidence=confidence,
        n=len(data),
        method="t-e-process",
        claim=claim,
        warnings=codes,
    )


def _running(data: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sample variance after each observation, by Welford's update in closed form."""
    mean = np.cumsum(data) / n
    before = np.concatenate(([data[0]], mean[:-1]))
    squares = np.cumsum((data - before) * (data - mean))
    # Equal values leave a rounding error that must not pass for spread.
    rounding = n * (1e-14 * np.abs(mean)) ** 2
    squares = np.where(squares <= rounding, 0.0, squares)
    return mean, np.where(n > 1, squares / np.maximum(n - 1, 1), nan)


def discordant_evalue(only_old: int, only_new: int, *, alternative: str = "drop") -> float:
    """E value of pairs that passed on one side only.

    Parameters
    ----------
    only_old, only_new : int
        Pairs that passed before only, and after only.
    alternative : {"drop", "rise", "two-sided"}
        Which difference it is evidence for.

    Returns
    -------
    float
        Reject "no difference" when it reaches 1/alpha; 1 without discordant pairs.

    Raises
    ------
    ValueError
        When a count is not a whole number of at least 0.

    Notes
    -----
    Without a difference a discordant pair falls on either side with probability 1/2. Against it stands a
    uniform mixture over (1/2, 1]: 2^{x+y} 2 B(1+x, 1+y) P(Beta(1+x, 1+y) > 1/2), x being the side of the
    alternative; over all of [0, 1] when two-sided [1]_.

    References
    ----------
    .. [1] Robbins, H. (1970). Statistical methods related to the law of the iterated logarithm. AMS 41.

    Examples
    --------
    >>> round(discordant_evalue(8, 0), 1), round(discordant_evalue(3, 3), 3)
    (56.8, 0.457)
    """
    x, y = check.whole("only_old", only_old, 0), check.whole("only_new", only_new, 0)
    check.choice("alternative", alternative, ("drop", "rise", "two-sided"))
    if alternative == "rise":
        x, y = y, x
    total = (x + y) * log(2) + log_beta(1 + x, 1 + y)
    if alternative != "two-sided":
        share = 2 * beta_cdf(0.5, 1 + y, 1 + x)
        total += log(share) if share > 0 else -inf
    return exp(total) if total < _LARGEST else inf
