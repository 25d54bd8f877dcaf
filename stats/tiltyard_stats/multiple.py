"""Several tests in one report: p values that keep the chance of any false alarm."""

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray


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
