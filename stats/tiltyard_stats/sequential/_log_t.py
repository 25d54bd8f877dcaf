"""The log-t statistic of a cost ratio as repeated looks use it: with an allowance for skewed costs.

Costs are skewed to the right, so a sample that misses its expensive runs shows too small a mean and too small
a spread at once. With equal spread the two arms cancel; with unequal spread the arm that varies less looks
dearer too often, and repeated looks find such a moment. The allowance widens that side only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats._moments import Moments
from tiltyard_stats._result import BoolArray, FloatArray

SKEW_WEIGHT = 1.5
"""Calibrated: 1 is the second-order term for lognormal costs; estimated spread asks for more."""


@dataclass(frozen=True, slots=True)
class LogT:
    """Log ratios of mean costs over the cells of the last axis; NaN where unknown."""

    log: FloatArray
    error: FloatArray
    """Standard error of `log`."""
    df_least: FloatArray
    """Degrees of freedom of the arm that has fewer."""
    df_welch: FloatArray
    """Degrees of freedom by Welch and Satterthwaite."""
    size: FloatArray
    """Runs per arm: half the harmonic sum n m / (n + m) counts the information."""
    bias: FloatArray
    """Twice the bias of the mean log ratio towards the baseline, in standard errors."""
    skew: FloatArray
    """Skewness that lognormal costs of these spreads give the statistic, towards the baseline."""
    borrowed: BoolArray
    """Whether a cell of one run borrowed the spread of the others."""

    def critical(self, quantile: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Critical values below and above the estimate: what to subtract and add, in standard errors.

        Args:
            quantile: Critical value without skewness, on the t scale.
            z: The same on the normal scale.
        """
        # An infinite critical value needs no allowance.
        square = np.where(np.isfinite(z), z**2, 0.0)
        up, down = self.allowance(1.0), self.allowance(-1.0)
        return quantile + up[0] + up[1] * square, quantile + down[0] + down[1] * square

    def allowance(self, direction: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Constant and factor of t² by which a statistic of this sign is too easily reached."""
        sign = np.asarray(direction, dtype=np.float64)
        bias, skew = np.maximum(-sign * self.bias, 0), np.maximum(-sign * self.skew, 0)
        return np.asarray(SKEW_WEIGHT * bias / 2), np.asarray(SKEW_WEIGHT * skew / 2)


@dataclass(frozen=True, slots=True)
class _Side:
    variance: FloatArray
    relative: FloatArray
    cubes: FloatArray
    squares: FloatArray
    df: FloatArray
    borrowed: BoolArray


def log_t(arms: Moments, bases: Moments) -> LogT:
    """Mean log ratio over the cells of the last axis.

    Notes
    -----
    With v = cv²/n in each of Q cells, V = sum(v_arm + v_base) / Q², B = sum(v_arm - v_base) / Q and
    K = sum(v_arm² - v_base²) / Q³. For lognormal costs of moderate spread the quantile of the studentised log
    ratio is z - B / (2 V^0.5) - K z² / (2 V^1.5) to second order, by the Cornish-Fisher expansion [1]_ with
    biases of -v/2 and third cumulants of 3 cv⁴/n².

    References
    ----------
    .. [1] Hall, P. (1992). The bootstrap and Edgeworth expansion, section 2.
    """
    ours, theirs = _side(arms), _side(bases)
    cells = arms.mean.shape[-1]
    variance = ours.variance + theirs.variance
    with np.errstate(divide="ignore", invalid="ignore"):
        log = (np.log(arms.mean) - np.log(bases.mean)).mean(axis=-1)
        known = np.where((variance > 0) & np.isfinite(log), variance, np.nan)
        size = (arms.n * bases.n / (arms.n + bases.n)).sum(axis=-1)
        return LogT(
            log=np.asarray(log, dtype=np.float64),
            error=np.sqrt(known),
            df_least=np.minimum(ours.df, theirs.df),
            df_welch=known**2 / (ours.squares + theirs.squares),
            size=np.asarray(size, dtype=np.float64),
            bias=(ours.relative - theirs.relative) / np.sqrt(known),
            skew=(ours.cubes - theirs.cubes) / cells**3 / known**1.5,
            borrowed=ours.borrowed | theirs.borrowed,
        )


def _side(moments: Moments) -> _Side:
    several = moments.n > 1
    df = np.where(several, moments.n - 1.0, 0.0)
    total = df.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(several, moments.relative_variance, 0.0)
        # A lone run borrows the spread of the other cells; with none to borrow from this is NaN.
        average = (df * relative).sum(axis=-1, keepdims=True) / total
        each = np.where(several, relative, average) / moments.n
        cells = moments.mean.shape[-1]
        lone = np.where(several, 0.0, 1.0 / moments.n).sum(axis=-1, keepdims=True)
        share = (np.where(several, 1.0 / moments.n, 0.0) + lone * df / total) / cells**2
        terms = np.where(several, (share * relative) ** 2 / df, 0.0).sum(axis=-1)
        variance = each.sum(axis=-1) / cells**2
        spread = np.where(terms > 0, variance**2 / terms, total[..., 0])
    single = np.any(~several, axis=-1) & np.any(several, axis=-1)
    return _Side(
        variance,
        each.mean(axis=-1),
        np.square(each).sum(axis=-1),
        terms,
        spread,
        np.asarray(single, dtype=np.bool_),
    )
