"""Pass rates corrected for a judge that is wrong at times."""

from math import nan, sqrt

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Interval
from tiltyard_stats._special import normal_quantile


def rogan_gladen(
    passes: int,
    n: int,
    *,
    sensitivity: tuple[int, int],
    specificity: tuple[int, int],
    confidence: float = 0.95,
    claim: str = "these items",
) -> Interval:
    """The true pass rate behind a judge's pass rate.

    Parameters
    ----------
    passes, n : int
        Items that the judge passed, and all that it judged.
    sensitivity : pair of int
        Items with a human pass that it passed, and all items with a human pass. Take a held-out split: items
        on which the judge was tuned flatter it.
    specificity : pair of int
        Items with a human failure that it failed, and all items with a human failure.
    confidence : float
        Nominal coverage.
    claim : str
        What the items stand for; carried into the result.

    Returns
    -------
    Interval
        Clipped to [0, 1]. NaN with `uninformative-judge` when the judge is no better than chance; code
        `clipped` when the plain estimate lies outside [0, 1].

    Raises
    ------
    ValueError
        When a count is not a whole number, exceeds its total, or a total is 0.

    Notes
    -----
    (q + sp - 1) / (se + sp - 1) [1]_. The interval is that of [2]_, which adds pseudo-counts (z² to the
    judged items, 2 to each labelled group) and also carries the noise of the labels.

    References
    ----------
    .. [1] Rogan, W. J. and Gladen, B. (1978). Estimating prevalence from the results of a screening test. Am.
           J. Epidemiol. 107.
    .. [2] Lang, Z. and Reiczigel, J. (2014). Confidence limits for prevalence of disease adjusted for
           estimated sensitivity and specificity. Prev. Vet. Med. 113.

    Examples
    --------
    >>> rate = rogan_gladen(60, 100, sensitivity=(45, 50), specificity=(40, 50))
    >>> print(f"{rate.estimate:.2f} ({rate.low:.2f} to {rate.high:.2f})")
    0.57 (0.40 to 0.74)
    """
    passes, n = check.passes_of("passes", passes, "n", n)
    for name, pair in (("sensitivity", sensitivity), ("specificity", specificity)):
        right, items = check.pair(name, pair)
        check.passes_of(f"{name}[0]", right, f"{name}[1]", items)
    z = normal_quantile(0.5 + check.proportion("confidence", confidence) / 2)
    q, se, sp = passes / n, sensitivity[0] / sensitivity[1], specificity[0] / specificity[1]
    if se + sp <= 1:
        return Interval(nan, nan, nan, confidence, "rogan-gladen", n, claim, ("uninformative-judge",))
    plain = (q + sp - 1) / (se + sp - 1)
    low, high = _lang_reiczigel((passes, n), sensitivity, specificity, z)
    estimate = min(1.0, max(0.0, plain))
    codes = () if estimate == plain else ("clipped",)
    return Interval(
        estimate, min(low, estimate), max(high, estimate), confidence, "rogan-gladen", n, claim, codes
    )


def _lang_reiczigel(
    judged: tuple[int, int], sensitivity: tuple[int, int], specificity: tuple[int, int], z: float
) -> tuple[float, float]:
    n = judged[1] + z**2
    q = (judged[0] + z**2 / 2) / n
    se, sp = ((pair[0] + 1) / (pair[1] + 2) for pair in (sensitivity, specificity))
    power = se + sp - 1
    rate = min(1.0, max(0.0, (q + sp - 1) / power))
    of_se = rate * se * (1 - se) / (sensitivity[1] + 2)
    of_sp = (1 - rate) * sp * (1 - sp) / (specificity[1] + 2)
    middle = rate + 2 * z**2 * (of_se - of_sp)
    half = z * sqrt(q * (1 - q) / n + rate * of_se + (1 - rate) * of_sp) / power
    return max(0.0, middle - half), min(1.0, middle + half)
