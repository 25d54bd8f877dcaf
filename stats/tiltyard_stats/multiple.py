"""Several tests in one report: p values that keep the chance of any false alarm."""

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import BoolArray, FloatArray


def holm(pvalues: ArrayLike) -> FloatArray:
    """Holm's step-down adjustment.

    Parameters
    ----------
    pvalues : array of float, shape (m,)
        Raw p values in any order; none is allowed.

    Returns
    -------
    array of float, shape (m,)
        Adjusted p values in the same order. Compare each with alpha to keep the family-wise error at alpha.

    Raises
    ------
    ValueError
        When a value is NaN or outside [0, 1].

    Notes
    -----
    The i-th smallest of m values is multiplied by m - i + 1, made monotone and capped at 1 [1]_. It holds
    for any dependence between the tests.

    References
    ----------
    .. [1] Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scand. J. Statist. 6.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = check.pvalues("pvalues", pvalues)
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def bonferroni(pvalues: ArrayLike) -> FloatArray:
    """Bonferroni's adjustment.

    Parameters
    ----------
    pvalues : array of float, shape (m,)
        Raw p values in any order; none is allowed.

    Returns
    -------
    array of float, shape (m,)
        Each value times m, capped at 1. `holm` is never larger; this one also serves rules that need one
        corrected confidence for all, such as slices.

    Raises
    ------
    ValueError
        When a value is NaN or outside [0, 1].

    References
    ----------
    .. [1] Dunn, O. J. (1961). Multiple comparisons among means. JASA 56.

    Examples
    --------
    >>> bonferroni([0.01, 0.04, 0.3]).round(6).tolist()
    [0.03, 0.12, 0.9]
    """
    raw = check.pvalues("pvalues", pvalues)
    return np.minimum(raw * len(raw), 1.0)


def benjamini_hochberg(pvalues: ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's step-up adjustment: the false discovery rate, for lists of leads.

    Parameters
    ----------
    pvalues : array of float, shape (m,)
        Raw p values in any order; none is allowed.

    Returns
    -------
    array of float, shape (m,)
        Adjusted p values in the same order. Those of at most q name leads of which a share of at most q is
        false on average, when the tests are independent or positively dependent.

    Raises
    ------
    ValueError
        When a value is NaN or outside [0, 1].

    Notes
    -----
    The i-th smallest of m values is multiplied by m / i, made monotone from the largest down and capped at 1
    [1]_.

    References
    ----------
    .. [1] Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. JRSS B 57.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(6).tolist()
    [0.03, 0.04, 0.04]
    """
    raw = check.pvalues("pvalues", pvalues)
    order = np.argsort(raw, kind="stable")[::-1]
    scaled = raw[order] * len(raw) / np.arange(len(raw), 0, -1)
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return adjusted


def e_bh(evalues: ArrayLike, *, alpha: float = 0.05) -> BoolArray:
    """Which e values are discoveries, by the e-BH procedure.

    Parameters
    ----------
    evalues : array of float, shape (m,)
        E values in any order, at least 0 (infinity is allowed); none is allowed.
    alpha : float
        The false discovery rate to keep.

    Returns
    -------
    array of bool, shape (m,)
        In the same order.

    Raises
    ------
    ValueError
        When a value is NaN or negative, or `alpha` is not strictly between 0 and 1.

    Notes
    -----
    The k largest are discoveries, for the largest k whose k-th value is at least m / (k alpha) [1]_. It holds
    for any dependence, and at any time when the e values come from e-processes.

    References
    ----------
    .. [1] Wang, R. and Ramdas, A. (2022). False discovery rate control with e-values. JRSS B 84.

    Examples
    --------
    >>> e_bh([70.0, 1.5, 35.0]).tolist()
    [True, False, True]
    """
    values = check.evalues("evalues", evalues)
    check.proportion("alpha", alpha)
    ordered = np.sort(values)[::-1]
    enough = ordered * np.arange(1, len(values) + 1) * alpha >= len(values)
    if not enough.any():
        return np.zeros(len(values), dtype=np.bool_)
    return np.asarray(values >= ordered[np.flatnonzero(enough)[-1]], dtype=np.bool_)
