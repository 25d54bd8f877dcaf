"""Checks of costs by cell, and warning codes, shared by the repeated looks at a cost ratio."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._moments import Moments, by_cell
from tiltyard_stats.sequential._log_t import LogT


def sides(arm: Sequence[ArrayLike], baseline: Sequence[ArrayLike]) -> tuple[Moments, Moments]:
    """Both arms as cells, in the same order: finite costs of at least 0, baseline means above 0."""
    if len(arm) != len(baseline):
        raise ValueError(
            f"arm ({len(arm)} cells) and baseline ({len(baseline)} cells) must have as many cells."
        )
    moments = _moments("arm", arm), _moments("baseline", baseline)
    if (moments[1].mean <= 0).any():
        raise ValueError(f"baseline (mean {moments[1].mean.min()}) must have a mean above 0 in each cell.")
    return moments


def _moments(name: str, values: Sequence[ArrayLike]) -> Moments:
    cells = check.cells(name, values)
    least = min(float(cell.min()) for cell in cells)
    if least < 0:
        raise ValueError(f"{name} holds {least}; a cost must be at least 0.")
    return by_cell(cells)


def codes(arms: Moments, bases: Moments, statistic: LogT) -> tuple[str, ...]:
    """Why a bound is unknown, or how it was made."""
    if (arms.mean == 0).any():
        return ("zero-mean",)
    if (arms.n < 2).all() or (bases.n < 2).all():  # noqa: PLR2004 - one run has no spread
        return ("n<2",)
    if np.isnan(statistic.error):
        return ("zero-variance",)
    return ("pooled-variance",) if statistic.borrowed else ()
