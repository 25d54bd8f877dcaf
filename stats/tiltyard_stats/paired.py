"""One run of each case by both arms: exact McNemar, and the interval of the paired difference."""

from math import nan, sqrt
from typing import Literal

import numpy as np

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Interval, TestResult
from tiltyard_stats._special import binomial_at_least, t_quantile

McNemarMethod = Literal["mcnemar-exact", "mcnemar-mid-p"]


def mcnemar(
    only_a: int, only_b: int, *, method: McNemarMethod = "mcnemar-exact", claim: str = "these cases"
) -> TestResult:
    """McNemar's exact test of two pass rates on the same cases, two-sided.

    Parameters
    ----------
    only_a, only_b : int
        Cases that only the one arm passed, and that only the other did.
    method : {"mcnemar-exact", "mcnemar-mid-p"}
        "mcnemar-mid-p" counts half the probability of the outcome itself.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    TestResult
        `statistic` is `only_a` minus `only_b`, `n` the number of discordant cases. Without any, p is 1 and
        the warning is `degenerate`.

    Raises
    ------
    ValueError
        When a count is not a whole number of at least 0, or the method is unknown.

    Notes
    -----
    Under equal rates the discordant cases are fair coins: p is twice the smaller binomial tail, at most 1
    [1]_. With 20 cases of which a fifth is discordant the size of the exact test is .5%, of mid-p [2]_ 1.7%;
    mid-p reaches 5% and not more.

    References
    ----------
    .. [1] McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or
           percentages. Psychometrika 12.
    .. [2] Fagerland, M. W., Lydersen, S. & Laake, P. (2013). The McNemar test for binary matched-pairs data:
           mid-p and asymptotic are better than exact conditional. BMC Med. Res. Methodol. 13.

    Examples
    --------
    >>> mcnemar(6, 0).pvalue, mcnemar(7, 6).pvalue
    (0.03125, 1.0)
    """
    a, b = check.whole("only_a", only_a, 0), check.whole("only_b", only_b, 0)
    check.choice("method", method, ("mcnemar-exact", "mcnemar-mid-p"))
    return TestResult(
        statistic=float(a - b),
        pvalue=_fair_coins(min(a, b), a + b, mid=method == "mcnemar-mid-p"),
        method=method,
        n=a + b,
        claim=claim,
        warnings=() if a + b else ("degenerate",),
    )


def _fair_coins(fewer: int, n: int, *, mid: bool) -> float:
    """Twice P(X <= fewer) for n fair coins, or with half of P(X = fewer)."""
    at_most, below = binomial_at_least([n - fewer, n - fewer + 1], n, 0.5)
    return min(1.0, float(at_most + below if mid else 2 * at_most))


def paired_diff_t(
    plus: int,
    minus: int,
    zero: int,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = (-1.0, 1.0),
    claim: str = "these cases",
) -> Interval:
    """Student's t interval of a paired difference of pass rates, one run per case and arm.

    Parameters
    ----------
    plus, minus, zero : int
        Cases that the candidate alone passed, that it alone failed, and that came out alike.
    confidence : float
        Nominal coverage.
    bounds : pair of float
        The range of possible differences; the interval is clipped to it.
    claim : str
        What the cases stand for; carried into the result.

    Returns
    -------
    Interval
        (plus - minus) / cases. NaN bounds and a warning for one case (`n<2`) or equal differences
        (`zero-variance`).

    Raises
    ------
    ValueError
        When there is no case or a count is not a whole number of at least 0.

    Notes
    -----
    The differences are +1, -1 and 0; mean ± t sd/sqrt(n) with n-1 degrees of freedom [1]_.

    References
    ----------
    .. [1] Student (1908). The probable error of a mean. Biometrika 6.

    Examples
    --------
    >>> interval = paired_diff_t(7, 6, 87)
    >>> print(f"{interval.estimate:+.1%} ({interval.low:+.1%} to {interval.high:+.1%})")
    +1.0% (-6.2% to +8.2%)
    """
    up, down, same = (
        check.whole(name, value, 0) for name, value in (("plus", plus), ("minus", minus), ("zero", zero))
    )
    n = check.whole("plus + minus + zero", up + down + same, 1)
    estimate = (up - down) / n
    check.within("plus - minus", np.array([estimate]), bounds)
    squares = n * (up + down) - (up - down) ** 2  # n times the sum of squares, in whole numbers
    error = sqrt(squares / (n - 1)) / n if n > 1 and squares else 0.0 if n > 1 else nan
    half = float(t_quantile(0.5 + check.proportion("confidence", confidence) / 2, max(n - 1, 1))) * error
    known = error > 0
    return Interval(
        estimate=estimate,
        low=float(np.clip(estimate - half, *bounds)) if known else nan,
        high=float(np.clip(estimate + half, *bounds)) if known else nan,
        confidence=confidence,
        method="paired-t",
        n=n,
        claim=claim,
        warnings=() if known else ("zero-variance",) if n > 1 else ("n<2",),
        standard_error=error,
        df=float(n - 1),
    )
