"""Group-sequential bounds: how much of alpha each look may spend, when the cap on the runs is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, e, log1p, pi, sqrt
from typing import Literal

import numpy as np

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray
from tiltyard_stats._special import normal_cdf, normal_quantile

Spending = Literal["obrien-fleming", "pocock"]

_FARTHEST = 38.0
"""Beyond this the normal tail is 0 in double precision."""
_NODES = 12
_PANELS_LEAST, _PANELS_MOST = 8, 200


@dataclass(frozen=True, slots=True)
class Boundary:
    """Two-sided bounds for the looks taken so far."""

    information: tuple[float, ...]
    """Share of the planned runs at each look, rising, at most 1."""
    bounds: tuple[float, ...]
    """Bound of the absolute z statistic at each look; infinite where a look may spend nothing."""
    spent: tuple[float, ...]
    """Alpha spent up to each look, both sides together."""
    alpha: float
    spending: str


def lan_demets(
    information: Sequence[float], *, alpha: float = 0.05, spending: Spending = "obrien-fleming"
) -> Boundary:
    """Bounds of a group-sequential test by the spending function of Lan and DeMets.

    Parameters
    ----------
    information : sequence of float, shape (looks,)
        Runs at each look over the planned cap, strictly rising, above 0 and at most 1. Looks still to come
        need not be known: a bound depends on earlier looks alone.
    alpha : float
        Two-sided false-alarm rate over all looks.
    spending : {"obrien-fleming", "pocock"}
        How alpha is spent: late, so that the last look is nearly a fixed test; or early.

    Returns
    -------
    Boundary
        Symmetric bounds of |z|.

    Raises
    ------
    ValueError
        When there is no look, `information` does not rise within (0, 1], or `alpha` is outside (0, 1). Beyond
        1 the cap has changed: use an e-process.

    Notes
    -----
    Each side spends a(t) = 2 (1 - Phi(z_{1-alpha/4} / sqrt t)), or alpha/2 ln(1 + (e-1) t) [1]_. The
    distribution of the Brownian motion B = z sqrt t inside the bounds is carried from look to look by
    Gauss-Legendre quadrature in panels [2]_.

    References
    ----------
    .. [1] Lan, K. K. G. and DeMets, D. L. (1983). Discrete sequential boundaries for clinical trials.
           Biometrika 70.
    .. [2] Armitage, P., McPherson, C. K. and Rowe, B. C. (1969). Repeated significance tests on accumulating
           data. JRSS A 132.

    Examples
    --------
    >>> [round(bound, 4) for bound in lan_demets([0.5, 1.0]).bounds]
    [2.9626, 1.9686]
    """
    times = _information(information)
    check.proportion("alpha", alpha)
    check.choice("spending", spending, ("obrien-fleming", "pocock"))
    spent = [_spend(time, alpha / 2, spending) for time in times]
    return Boundary(times, _bounds(times, spent), tuple(2 * side for side in spent), alpha, spending)


def _information(values: Sequence[float]) -> tuple[float, ...]:
    times = check.sample("information", values)
    if not (times[0] > 0 and times[-1] <= 1 and (np.diff(times) > 0).all()):
        raise ValueError(f"information ({list(values)}) must rise strictly within (0, 1].")
    return tuple(times.tolist())


def _spend(time: float, side: float, spending: Spending) -> float:
    if spending == "pocock":
        return side * log1p((e - 1) * time)
    return 2 * float(normal_cdf(normal_quantile(side / 2) / sqrt(time)))


def _bounds(times: Sequence[float], spent: Sequence[float]) -> tuple[float, ...]:
    bounds: list[float] = []
    nodes, mass, earlier, used = np.zeros(1), np.ones(1), 0.0, 0.0
    for time, total in zip(times, spent, strict=True):
        step = sqrt(time - earlier)
        limit = _limit(nodes, mass, step, total - used)
        bounds.append(limit / sqrt(time) if limit < _FARTHEST else np.inf)
        nodes, mass = _carry(nodes, mass, step, min(limit, 9 * sqrt(time)))
        earlier, used = time, total
    return tuple(bounds)


def _limit(nodes: FloatArray, mass: FloatArray, step: float, probability: float) -> float:
    """The height that the motion exceeds next with the given probability, by bisection."""
    low, high = 0.0, _FARTHEST
    for _ in range(70):
        middle = (low + high) / 2
        above = float(mass @ normal_cdf((nodes - middle) / step))
        low, high = (middle, high) if above > probability else (low, middle)
    return high


def _carry(nodes: FloatArray, mass: FloatArray, step: float, limit: float) -> tuple[FloatArray, FloatArray]:
    """Where the motion is after the next step, as weights on quadrature nodes inside ±limit."""
    # Panels no wider than a step keep the quadrature exact when looks are close together.
    panels = min(_PANELS_MOST, max(_PANELS_LEAST, ceil(2 * limit / step)))
    roots, weights = np.polynomial.legendre.leggauss(_NODES)
    half = limit / panels
    centres = half * np.arange(1 - panels, panels, 2)
    new = (centres[:, np.newaxis] + half * roots).ravel()
    kernel = np.exp(-np.square((new[:, np.newaxis] - nodes) / step) / 2) / (step * sqrt(2 * pi))
    return new, np.asarray(kernel @ mass * np.tile(weights * half, panels), dtype=np.float64)
