"""Which variants no other one beats on every axis, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray
from tiltyard_stats.resample import Rng, as_generator, bootstrap_weights

Points = Sequence[Sequence[float | None]] | FloatArray
_BLOCK_PAIRS = 1_000_000
_ROUNDING = 64 * float(np.finfo(float).eps)
"""How far, relative to their size, values may be apart that are the same but for the order of their sums."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The variants that are not dominated."""

    frontier: tuple[int, ...]
    """Their positions, ascending."""
    left_out: tuple[int, ...]
    """Positions of variants that lack an axis."""
    warnings: tuple[str, ...] = ()
    """`missing-axis` when some are left out."""


@dataclass(frozen=True, slots=True)
class FrontierProbability:
    """How often each variant is on the frontier when its trials are drawn anew."""

    probability: FloatArray
    """Shape (variants,); NaN for one that lacks an axis or has a single trial."""
    frontier: Frontier
    """The frontier of the means."""
    n: tuple[int, ...]
    """Trials of each variant."""
    method: str
    claim: str
    warnings: tuple[str, ...] = ()
    """`missing-axis`, `n<2`."""


def pareto(points: Points, maximize: Sequence[bool]) -> Frontier:
    """The variants that no other variant dominates.

    Parameters
    ----------
    points : array of float or None, shape (variants, axes)
        Pass rate, score, latency, cost, ...; None or NaN where a variant has no value.
    maximize : sequence of bool, length axes
        Whether more is better on an axis.

    Returns
    -------
    Frontier
        A variant is dominated when another is at least as good on all axes and better on one. Ties stay;
        values that differ by no more than rounding are ties. A variant that lacks an axis is left out with a
        warning: compared on the axes it has, "better" would not be transitive.

    Raises
    ------
    ValueError
        When there is no variant or axis, a value is infinite, or `maximize` does not fit.

    Examples
    --------
    >>> pareto([[0.9, 10], [0.8, 5], [0.7, 6], [0.9, 10], [0.99, None]], [True, False])
    Frontier(frontier=(0, 1, 3), left_out=(4,), warnings=('missing-axis',))
    """
    table, signs = _table(points, maximize)
    complete = ~np.isnan(table).any(axis=1)
    beaten = _dominated(_ranks((table * signs)[np.newaxis], _ROUNDING * np.abs(table)))[0]
    left_out = tuple(np.flatnonzero(~complete).tolist())
    frontier = tuple(np.flatnonzero(complete & ~beaten).tolist())
    return Frontier(frontier, left_out, ("missing-axis",) if left_out else ())


def pareto_probability(
    trials: Sequence[Points],
    maximize: Sequence[bool],
    *,
    resamples: int = 2_000,
    rng: Rng = None,
    claim: str = "these trials",
) -> FrontierProbability:
    """Probability that each variant is on the frontier, by bootstrap over its trials.

    Parameters
    ----------
    trials : sequence of arrays of float or None, one array of shape (trials, axes) per variant
        What each trial gave on each axis. A variant one of whose trials lacks an axis is left out.
    maximize : sequence of bool, length axes
        Whether more is better on an axis.
    resamples, rng
        Number and source of the draws; seed 0 by default.
    claim : str
        What the trials stand for; carried into the result.

    Returns
    -------
    FrontierProbability
        The share of resamples in which the variant's means are not dominated. A variant of one trial takes
        part with its values, but has no probability of its own (`n<2`).

    Raises
    ------
    ValueError
        As for `pareto`, and when a variant has no trial.

    Examples
    --------
    >>> slow, fast = [[1, 9], [0, 8], [1, 7]], [[1, 4], [1, 3], [0, 5]]
    >>> pareto_probability([slow, fast], [True, False]).probability.round(1).tolist()
    [0.3, 1.0]
    """
    if not trials:
        raise ValueError("trials (none) must hold at least one variant.")
    tables = [_table(variant, maximize, f"trials[{place}]")[0] for place, variant in enumerate(trials)]
    means = np.array([table.mean(axis=0) for table in tables])
    frontier = pareto(means, maximize)
    source, signs = as_generator(rng), np.where(maximize, 1.0, -1.0)
    n = tuple(len(table) for table in tables)
    drawn = np.stack(
        [bootstrap_weights(len(table), resamples, rng=source) @ (table * signs) for table in tables], axis=1
    )
    single = np.array(n) < 2  # noqa: PLR2004 - one trial has no spread
    probability = 1 - _share_dominated(drawn, np.array([_rounding(table) for table in tables]))
    probability[single | np.isnan(means).any(axis=1)] = np.nan
    codes = (*frontier.warnings, *(("n<2",) if single.any() else ()))
    return FrontierProbability(probability, frontier, n, "bootstrap", claim, codes)


def _table(points: Points, maximize: Sequence[bool], name: str = "points") -> tuple[FloatArray, FloatArray]:
    table = check.numbers(name, points)
    if table.ndim != 2 or 0 in table.shape:  # noqa: PLR2004 - variants by axes
        raise ValueError(f"{name} (shape {table.shape}) must have rows and axes.")
    if np.isinf(table).any():
        raise ValueError(f"{name} holds {table[np.isinf(table)][0]}; a value must be finite or missing.")
    if table.shape[1] != len(check.listed("maximize", maximize)):
        raise ValueError(
            f"maximize ({list(maximize)!r}) must have one entry for each of {table.shape[1]} axes."
        )
    return table, np.where(maximize, 1.0, -1.0)


def _rounding(trials: FloatArray) -> FloatArray:
    """By axis, how far resampled means may be from each other by the order of their sums alone."""
    eps = float(np.finfo(float).eps)
    return np.asarray((_ROUNDING + 2 * len(trials) * eps) * np.abs(trials).max(axis=0))


def _ranks(values: FloatArray, rounding: FloatArray) -> FloatArray:
    """The ranks of values (draws, variants, axes) on each axis; equal where no more than rounding is between.

    Ranks keep "better" transitive, which a tolerance at each comparison would not.
    """
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    slack = np.take_along_axis(np.broadcast_to(rounding, values.shape), order, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.diff(ascending, axis=1) > slack[:, 1:] + slack[:, :-1]
    steps = np.concatenate([np.zeros_like(values[:, :1]), np.cumsum(apart, axis=1)], axis=1)
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, steps, axis=1)
    return np.where(np.isnan(values), np.nan, ranks)


def _dominated(values: FloatArray) -> NDArray[np.bool_]:
    """Shape (draws, variants, axes), more is better; a NaN neither dominates nor is dominated."""
    rivals, selves = values[:, np.newaxis, :, :], values[:, :, np.newaxis, :]
    beats = (rivals >= selves).all(axis=-1) & (rivals > selves).any(axis=-1)
    return np.asarray(beats.any(axis=-1))


def _share_dominated(values: FloatArray, rounding: FloatArray) -> FloatArray:
    step = max(1, _BLOCK_PAIRS // (values.shape[1] ** 2 * values.shape[2]))
    beaten = np.zeros(values.shape[1])
    for start in range(0, len(values), step):
        beaten += _dominated(_ranks(values[start : start + step], rounding)).sum(axis=0)
    return beaten / len(values)
