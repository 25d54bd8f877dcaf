"""Whether going on can still show something."""

from math import log1p, sqrt

from tiltyard_stats import _validate as check
from tiltyard_stats._special import normal_cdf, normal_quantile

FUTILE_BELOW = 0.10
"""Conditional power under which going on is called futile."""


def conditional_power(
    z: float, information: float, *, effect: float, standard_error: float, alpha: float = 0.05
) -> float:
    """Chance that the last look will show a difference, if the true one is as large as planned for.

    Parameters
    ----------
    z : float
        Statistic so far: log ratio over its standard error; its sign is the direction of the estimate.
    information : float
        Runs so far over the cap, in (0, 1).
    effect : float
        Relative difference planned for, such as 0.2 for 20% cheaper or dearer, in (0, 1).
    standard_error : float
        Of the log ratio at the cap: the present one times sqrt(information). Above 0.
    alpha : float
        Two-sided false-alarm rate.

    Returns
    -------
    float
        The larger one of both directions: a clearly cheaper arm is never futile because it is not dearer.

    Raises
    ------
    ValueError
        When an argument is missing or out of its range.

    Notes
    -----
    1 - Phi((z_{1-alpha/2} - B - drift (1 - t)) / sqrt(1 - t)) with B = z sqrt t [1]_; the drift is ln(1 +
    effect) / se upwards and -ln(1 - effect) / se downwards. It is not binding: going on regardless costs no
    false alarms.

    References
    ----------
    .. [1] Lan, K. K. G. and Wittes, J. (1988). The B-value: a tool for monitoring data. Biometrics 44.

    Examples
    --------
    >>> round(conditional_power(-2.5, 0.5, effect=0.2, standard_error=0.1), 2)
    0.9
    >>> conditional_power(0.1, 0.5, effect=0.2, standard_error=0.4) < FUTILE_BELOW
    True
    """
    check.finite("z", z)
    check.proportion("information", information)
    check.proportion("effect", effect)
    check.above("standard_error", standard_error, 0)
    critical = normal_quantile(1 - check.proportion("alpha", alpha) / 2)
    at, left = z * sqrt(information), 1 - information
    dearer = critical - at - log1p(effect) / standard_error * left
    cheaper = critical + at + log1p(-effect) / standard_error * left
    return float(normal_cdf(-min(dearer, cheaper) / sqrt(left)))
