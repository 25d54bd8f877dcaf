"""Quantiles of bootstrap distributions, drawn or listed, of many cells at once."""

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np

from tiltyard_stats._result import FloatArray, IntArray

_PROBE_SHARE = 16
_PROBE_MARGIN = 4.0


def quantiles(values: FloatArray, counts: FloatArray | None, levels: Sequence[float]) -> FloatArray:
    """Quantiles along the last axis with linear interpolation, as `numpy.quantile` gives them.

    Args:
        values: Shape (cells, states), without NaN; may be reordered.
        counts: How often each value stands, shape (states,); None when once.
        levels: Between 0 and 1.

    Returns:
        Shape (levels, cells).
    """
    total = values.shape[-1] if counts is None else float(counts.sum())
    place = np.asarray(levels, dtype=np.float64) * (total - 1)
    below = np.floor(place)
    above = np.minimum(below + 1, total - 1)
    order = np.concatenate([below, above])
    picked = _drawn(values, order.astype(np.int64)) if counts is None else _listed(values, counts, order)
    low, high = picked[: len(place)], picked[len(place) :]
    share = (place - below)[:, np.newaxis]
    with np.errstate(invalid="ignore"):  # between two infinities
        step = high - low
        # From the nearer end, as numpy does, so that rounding never carries it past the other.
        between = np.where(share < 0.5, low + share * step, high - (1 - share) * step)  # noqa: PLR2004
        # Between a number and an infinite value lies what is infinite; between two of them nothing is known.
        open_end = np.where(np.isinf(low) & np.isinf(high), np.nan, np.where(np.isinf(high), high, low))
        between = np.where(np.isinf(step), open_end, between)
    return np.where((low == high) | (share == 0), low, between)


def _drawn(values: FloatArray, order: IntArray) -> FloatArray:
    """Values at ascending positions; near the ends it sorts only what may stand there.

    A first part of the draws tells where to cut, with a margin of four standard errors. A row in which the
    cut left too few is partitioned whole, so the values are exact.
    """
    size = values.shape[-1]
    low, high = order < size / 2, order >= size / 2
    depth = max(order[low].max(initial=-1) + 1, size - order[high].min(initial=size))
    probe = size // _PROBE_SHARE
    margin = _PROBE_MARGIN * sqrt(probe * depth / size) + 2
    cut = ceil(probe * depth / size + margin)
    if 4 * cut >= probe:
        values.partition(np.unique(order), axis=-1)
        return values[:, order].T
    first = np.partition(values[:, :probe], [cut, probe - 1 - cut], axis=-1)
    bottom, top = order[low], order[high]
    picked = np.empty((len(values), len(order)))
    for target, row, floor, ceiling in zip(
        picked, values, first[:, cut], first[:, probe - 1 - cut], strict=True
    ):
        if bottom.size:
            target[low] = _at(bottom, row, row[row <= floor], 0)
        if top.size:
            above = row[row >= ceiling]
            target[high] = _at(top, row, above, size - len(above))
    return picked.T


def _at(order: IntArray, row: FloatArray, part: FloatArray, before: int) -> FloatArray:
    """Values at positions of the row, from the part of it that has `before` values below it."""
    if order.min() < before or order.max() >= before + len(part):
        part, before = row.copy(), 0
    part.partition(order - before)
    return part[order - before]


def _listed(values: FloatArray, counts: FloatArray, order: FloatArray) -> FloatArray:
    picked = np.empty((len(order), len(values)))
    for column, cell in enumerate(values):
        by_value = np.argsort(cell)
        upto = np.cumsum(counts[by_value])
        picked[:, column] = cell[by_value[np.searchsorted(upto, order, side="right")]]
    return picked
