"""Distribution functions from `scipy.special`, imported when first needed: it takes over a second to load."""

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats._result import FloatArray


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    from scipy.special import ndtri  # noqa: PLC0415 - lazy by design

    return float(ndtri(probability))


def t_quantile(probability: ArrayLike, df: ArrayLike) -> FloatArray:
    """Quantile of Student's t distribution."""
    from scipy.special import stdtrit  # noqa: PLC0415 - lazy by design

    level = np.asarray(probability, dtype=np.float64)
    return np.asarray(stdtrit(np.asarray(df, dtype=np.float64), level), dtype=np.float64)


def t_two_sided(statistic: ArrayLike, df: ArrayLike) -> FloatArray:
    """Two-sided p value of a t statistic."""
    from scipy.special import stdtr  # noqa: PLC0415 - lazy by design

    tail = stdtr(np.asarray(df, dtype=np.float64), -np.abs(np.asarray(statistic, dtype=np.float64)))
    return np.asarray(2.0 * tail, dtype=np.float64)


def noncentral_t_cdf(value: float, df: float, shift: float) -> float:
    """Distribution function of the noncentral t distribution."""
    from scipy.special import nctdtr  # noqa: PLC0415 - lazy by design

    return float(nctdtr(df, shift, value))


def chi2_quantile(probability: float, df: float) -> float:
    """Quantile of the chi-squared distribution."""
    from scipy.special import gammaincinv  # noqa: PLC0415 - lazy by design

    return float(2.0 * gammaincinv(df / 2.0, probability))


def log_binomial(n: ArrayLike, k: ArrayLike) -> FloatArray:
    """Logarithm of the binomial coefficient."""
    from scipy.special import gammaln  # noqa: PLC0415 - lazy by design

    top, part = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return np.asarray(gammaln(top + 1) - gammaln(part + 1) - gammaln(top - part + 1), dtype=np.float64)


def normal_cdf(value: ArrayLike) -> FloatArray:
    """Distribution function of the standard normal distribution; exact in its lower tail."""
    from scipy.special import ndtr  # noqa: PLC0415 - lazy by design

    return np.asarray(ndtr(np.asarray(value, dtype=np.float64)), dtype=np.float64)


def t_cdf(statistic: ArrayLike, df: ArrayLike) -> FloatArray:
    """Distribution function of Student's t distribution; exact in its lower tail."""
    from scipy.special import stdtr  # noqa: PLC0415 - lazy by design

    value = np.asarray(statistic, dtype=np.float64)
    return np.asarray(stdtr(np.asarray(df, dtype=np.float64), value), dtype=np.float64)


def beta_cdf(value: float, a: float, b: float) -> float:
    """Distribution function of the beta distribution."""
    from scipy.special import betainc  # noqa: PLC0415 - lazy by design

    return float(betainc(a, b, value))


def log_beta(a: float, b: float) -> float:
    """Logarithm of the beta function."""
    from scipy.special import betaln  # noqa: PLC0415 - lazy by design

    return float(betaln(a, b))


def beta_quantile(probability: float, a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Quantile of the beta distribution."""
    from scipy.special import betaincinv  # noqa: PLC0415 - lazy by design

    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return np.asarray(betaincinv(first, second, probability), dtype=np.float64)


def binomial_at_least(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> FloatArray:
    """P(X >= k) of a binomial; 1 for k = 0 and 0 for k above n."""
    from scipy.special import betainc  # noqa: PLC0415 - lazy by design

    least, total = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    inside = betainc(np.maximum(least, 1), np.maximum(total - least + 1, 1), np.asarray(p, dtype=np.float64))
    return np.where(least <= 0, 1.0, np.where(least > total, 0.0, inside))


def chi2_above(value: ArrayLike, df: float) -> float:
    """P(X > value) of a chi-squared distribution."""
    from scipy.special import chdtrc  # noqa: PLC0415 - lazy by design

    return float(chdtrc(df, np.asarray(value, dtype=np.float64)))


def normal_two_sided(statistic: float) -> float:
    """Two-sided p value of a normal statistic."""
    from scipy.special import ndtr  # noqa: PLC0415 - lazy by design

    return float(2.0 * ndtr(-abs(statistic)))
