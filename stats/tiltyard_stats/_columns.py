"""Intervals of many cells put together, with the codes for bounds that the data cannot give."""

from math import nan

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats._result import FloatArray, Intervals

Codes = tuple[tuple[str, ...], ...]
NO_WIDTH = ("zero-width",)
"""Of a bootstrap whose resamples agree, or leave a bound undefined: that is no proof of a point."""


def with_width(low: float, high: float) -> tuple[float, float, tuple[str, ...]]:
    """The bounds of one interval, or NaN with a code when there is nothing between them."""
    return (low, high, ()) if low < high else (nan, nan, NO_WIDTH)


def spread_codes(single: ArrayLike, spread: ArrayLike, zero: ArrayLike | None = None) -> Codes:
    """One code per cell without bounds.

    Args:
        single: Cells of one observation.
        spread: Cells whose observations vary.
        zero: Cells whose mean is 0 where a positive one is needed.
    """
    alone, varies = np.atleast_1d(single), np.atleast_1d(spread)
    nothing = np.zeros(varies.shape, dtype=bool) if zero is None else np.atleast_1d(zero)
    return tuple(
        ("zero-mean",) if none else ("n<2",) if one else () if some else ("zero-variance",)
        for none, one, some in zip(nothing, alone, varies, strict=True)
    )


def intervals(
    estimate: FloatArray,
    bounds: FloatArray,
    n: ArrayLike,
    *,
    confidence: float,
    method: str,
    claim: str,
    warnings: Codes,
) -> Intervals:
    """Intervals without a standard error; where there is a warning the bounds are unknown.

    Args:
        estimate: One per cell.
        bounds: Shape (2, cells): lower and upper ones.
        n: Observations of each cell.
        confidence: Nominal coverage.
        method: Name of the formula.
        claim: What the observations stand for.
        warnings: Codes of each cell.
    """
    unknown = np.full(estimate.shape, np.nan)
    ends = np.where([bool(code) for code in warnings], np.nan, bounds)
    wide = ends[0] < ends[1]
    low, high = np.where(wide, ends, np.nan)
    warnings = tuple(code or (() if held else NO_WIDTH) for code, held in zip(warnings, wide, strict=True))
    return Intervals(
        estimate=estimate,
        low=low,
        high=high,
        confidence=confidence,
        method=method,
        n=np.asarray(n, dtype=np.int64),
        claim=claim,
        warnings=warnings,
        standard_error=unknown,
        df=unknown,
    )
