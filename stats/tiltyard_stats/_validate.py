"""Checks of arguments. A message names the argument, its value and the rule."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats._result import FloatArray, IntArray


def proportion(name: str, value: float) -> float:
    """A number strictly between 0 and 1, such as a confidence."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} ({value!r}) must be strictly between 0 and 1.")
    return float(value)


def at_least(name: str, value: float, minimum: float) -> float:
    """A finite number that is not below `minimum`."""
    if not (np.isfinite(value) and value >= minimum):
        raise ValueError(f"{name} ({value!r}) must be a finite number of at least {minimum}.")
    return float(value)


def choice(name: str, value: str, allowed: Sequence[str]) -> str:
    """One of the allowed words."""
    if value not in allowed:
        raise ValueError(f"{name} ({value!r}) must be one of {', '.join(map(repr, allowed))}.")
    return value


def samples(name: str, values: ArrayLike) -> FloatArray:
    """Finite observations along the last axis, at least one of them."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} (shape {array.shape}) must hold at least one observation.")
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)].flat[0]
        raise ValueError(f"{name} holds {bad}; leave missing values out, they are never imputed.")
    return array


def sample(name: str, values: ArrayLike) -> FloatArray:
    """Finite observations of one cell, shape (n,)."""
    array = samples(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name} (shape {array.shape}) must have one axis.")
    return array


def cells(name: str, values: Sequence[ArrayLike]) -> list[FloatArray]:
    """Finite observations of one or more cells, each of shape (n_cell,)."""
    result = [sample(f"{name}[{index}]", cell) for index, cell in enumerate(values)]
    if not result:
        raise ValueError(f"{name} (no cells) must hold at least one cell.")
    return result


def counts(name: str, value: ArrayLike) -> IntArray:
    """Whole numbers of at least 0."""
    array = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(array).all() and (array >= 0).all() and (array == np.floor(array)).all()):
        raise ValueError(f"{name} ({value!r}) must be a whole number of at least 0.")
    return array.astype(np.int64)


def trials(successes_name: str, successes: ArrayLike, n_name: str, n: ArrayLike) -> tuple[IntArray, IntArray]:
    """Successes out of n, broadcast together, with n >= 1 and successes <= n."""
    k, total = np.broadcast_arrays(counts(successes_name, successes), counts(n_name, n))
    if (total == 0).any():
        raise ValueError(f"{n_name} ({n!r}) must be at least 1: there is nothing to estimate.")
    if (k > total).any():
        raise ValueError(f"{successes_name} ({successes!r}) must not exceed {n_name} ({n!r}).")
    return k, total


def pvalues(name: str, values: ArrayLike) -> FloatArray:
    """P values, shape (m,), each in [0, 1]; none is allowed."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"{name} ({values!r}) must be a list of numbers in [0, 1].")
    return array
