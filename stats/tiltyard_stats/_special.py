"""Distribution functions from `scipy.special`, imported when first needed: it takes over a second to load."""

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats._result import FloatArray


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    from scipy.special import ndtri  # noqa: PLC0415 - lazy by design

    return float(ndtri(probability))


def t_quantile(probability: float, df: ArrayLike) -> FloatArray:
    """Quantile of Student's t distribution."""
    from scipy.special import stdtrit  # noqa: PLC0415 - lazy by design

    return np.asarray(stdtrit(np.asarray(df, dtype=np.float64), probability), dtype=np.float64)


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
