"""Checks of arguments. A message names the argument, its value and the rule."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats._result import FloatArray, IntArray
from tiltyard_stats.cells import Cells


def number(name: str, value: object) -> float:
    """A single number of any size; None and text are no numbers, and are never taken for one."""
    if not isinstance(value, int | float | np.number):
        raise ValueError(f"{name} ({value!r}) must be a number.")  # noqa: TRY004 - all rules raise alike
    return float(value)


def numbers(name: str, values: object) -> FloatArray:
    """Numbers in rows of equal length; None becomes NaN, which the rules below refuse."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} ({values!r}) must hold numbers, in rows of equal length.") from error


def proportion(name: str, value: float) -> float:
    """A number strictly between 0 and 1, such as a confidence."""
    if not 0.0 < number(name, value) < 1.0:
        raise ValueError(f"{name} ({value!r}) must be strictly between 0 and 1.")
    return float(value)


def share(name: str, value: float) -> float:
    """A number in [0, 1], such as a limit."""
    if not 0.0 <= number(name, value) <= 1.0:
        raise ValueError(f"{name} ({value!r}) must lie in [0, 1].")
    return float(value)


def at_least(name: str, value: float, minimum: float) -> float:
    """A finite number that is not below `minimum`."""
    if not (np.isfinite(number(name, value)) and value >= minimum):
        raise ValueError(f"{name} ({value!r}) must be a finite number of at least {minimum}.")
    return float(value)


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """One of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} ({value!r}) must be one of {', '.join(map(repr, allowed))}.")
    return value


def samples(name: str, values: ArrayLike) -> FloatArray:
    """Finite observations along the last axis, at least one of them."""
    array = numbers(name, values)
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


def listed(name: str, values: object) -> list[Any]:
    """The items of a list, tuple or array; a single number or text is none."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"{name} ({values!r}) must be a list.")  # noqa: TRY004 - all rules raise alike
    return list(values)


def pair(name: str, values: object) -> tuple[Any, Any]:
    """Two items."""
    items = listed(name, values)
    if len(items) != 2:  # noqa: PLR2004 - a pair
        raise ValueError(f"{name} ({values!r}) must be a pair.")
    return items[0], items[1]


def cells(name: str, values: Sequence[ArrayLike] | FloatArray) -> Cells:
    """Finite observations of one or more cells, each of shape (n_cell,)."""
    if isinstance(values, Cells) and len(values) and values.n.all() and np.isfinite(values.flat).all():
        return values
    result = [sample(f"{name}[{index}]", cell) for index, cell in enumerate(listed(name, values))]
    if not result:
        raise ValueError(f"{name} (no cells) must hold at least one cell.")
    return Cells.of(result)


def counts(name: str, value: ArrayLike) -> IntArray:
    """Whole numbers of at least 0."""
    array = numbers(name, value)
    if not (np.isfinite(array).all() and (array >= 0).all() and (array == np.floor(array)).all()):
        raise ValueError(f"{name} ({value!r}) must be a whole number of at least 0.")
    return array.astype(np.int64)


def trials(successes_name: str, successes: ArrayLike, n_name: str, n: ArrayLike) -> tuple[IntArray, IntArray]:
    """Successes out of n, broadcast together, with n >= 1 and successes <= n."""
    passed, runs = counts(successes_name, successes), counts(n_name, n)
    try:
        k, total = np.broadcast_arrays(passed, runs)
    except ValueError as error:
        raise ValueError(
            f"{successes_name} (shape {passed.shape}) and {n_name} (shape {runs.shape}) must be as long."
        ) from error
    if not k.size:
        raise ValueError(f"{successes_name} ({successes!r}) must hold at least one count.")
    if (total == 0).any():
        raise ValueError(f"{n_name} ({n!r}) must be at least 1: there is nothing to estimate.")
    if (k > total).any():
        raise ValueError(f"{successes_name} ({successes!r}) must not exceed {n_name} ({n!r}).")
    return k, total


def pvalues(name: str, values: ArrayLike) -> FloatArray:
    """P values, shape (m,), each in [0, 1]; none is allowed."""
    array = numbers(name, values)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"{name} ({values!r}) must be a list of numbers in [0, 1].")
    return array


def evalues(name: str, values: ArrayLike) -> FloatArray:
    """E values, shape (m,), each at least 0; infinity and none are allowed."""
    array = numbers(name, values)
    if array.ndim != 1 or not (array >= 0).all():
        raise ValueError(f"{name} ({values!r}) must be a list of numbers of at least 0.")
    return array


def finite(name: str, value: float) -> float:
    """A finite number of any sign."""
    if not np.isfinite(number(name, value)):
        raise ValueError(f"{name} ({value!r}) must be a finite number.")
    return float(value)


def above(name: str, value: float, minimum: float) -> float:
    """A finite number strictly above `minimum`."""
    if not (np.isfinite(number(name, value)) and value > minimum):
        raise ValueError(f"{name} ({value!r}) must be a finite number above {minimum}.")
    return float(value)


def ordered(low_name: str, low: float, high_name: str, high: float) -> tuple[float, float]:
    """Two finite numbers, the first below the second."""
    if not finite(low_name, low) < finite(high_name, high):
        raise ValueError(f"{low_name} ({low!r}) must be below {high_name} ({high!r}).")
    return float(low), float(high)


def whole(name: str, value: object, minimum: int) -> int:
    """A single whole number that is not below `minimum`."""
    size = float(value) if isinstance(value, int | float | np.number) else np.nan
    if not (np.isfinite(size) and size == int(size) and size >= minimum):
        raise ValueError(f"{name} ({value!r}) must be a whole number of at least {minimum}.")
    return int(size)


def passes_of(passes_name: str, passes: float, runs_name: str, runs: float) -> tuple[int, int]:
    """Passes and runs of one side as whole numbers, with at least one run."""
    k, total = whole(passes_name, passes, 0), whole(runs_name, runs, 0)
    trials(passes_name, k, runs_name, total)
    return k, total


def cases(passes_name: str, passes: ArrayLike, runs_name: str, runs: ArrayLike) -> tuple[IntArray, IntArray]:
    """Passes and runs of one or more cases, each of shape (cases,); one number of runs may serve for all."""
    k, total = numbers(passes_name, passes), numbers(runs_name, runs)
    if k.ndim != 1 or k.size == 0:
        raise ValueError(f"{passes_name} (shape {k.shape}) must hold one count per case, at least one.")
    if total.ndim > 1 or (total.ndim == 1 and total.size != k.size):
        raise ValueError(
            f"{runs_name} (shape {total.shape}) must be one number, or one per case of {passes_name}"
            f" ({k.size})."
        )
    return trials(passes_name, passes, runs_name, runs)


def outcomes(name: str, values: ArrayLike, minimum_rows: int = 1) -> IntArray:
    """A table of 0 (failed) and 1 (passed), shape (rows, cases), with at least one case."""
    array = numbers(name, values)
    if array.ndim != 2 or array.shape[0] < minimum_rows or array.shape[1] == 0:  # noqa: PLR2004 - a table
        raise ValueError(
            f"{name} (shape {array.shape}) must be a table of runs and cases with at least {minimum_rows}"
            " run(s) and one case."
        )
    if not np.isin(array, (0.0, 1.0)).all():
        bad = array[~np.isin(array, (0.0, 1.0))].flat[0]
        raise ValueError(f"{name} holds {bad}; each outcome must be 0 (failed) or 1 (passed).")
    return array.astype(np.int64)


def costs(name: str, values: ArrayLike) -> FloatArray:
    """Costs along the last axis, in any one unit: finite, none below 0, at least one."""
    array = samples(name, values)
    if (array < 0).any():
        raise ValueError(f"{name} holds {array.min()}; a cost must be at least 0.")
    return array


def rows(name: str, values: FloatArray) -> FloatArray:
    """Cells as rows, shape (cells, n); a single cell becomes one row."""
    if values.ndim > 2:  # noqa: PLR2004 - cells and their observations
        raise ValueError(f"{name} (shape {values.shape}) must have two axes: cells and their observations.")
    return np.atleast_2d(values)


def cost_cells(arm: Sequence[ArrayLike], baseline: Sequence[ArrayLike]) -> tuple[Cells, Cells]:
    """Costs of two sides by cell, as many cells on both, with a baseline that costs something in each."""
    if len(arm) != len(baseline):
        raise ValueError(
            f"arm ({len(arm)} cells) and baseline ({len(baseline)} cells) must have as many cells."
        )
    sides = cells("arm", arm), cells("baseline", baseline)
    for name, side in zip(("arm", "baseline"), sides, strict=True):
        costs(name, side.flat)
    positive_means("baseline", sides[1].means)
    return sides


def positive_means(name: str, means: FloatArray) -> None:
    """Means that something can be divided by."""
    if (means <= 0).any():
        raise ValueError(f"{name} (mean {means.min()}) must have a mean above 0 in each cell.")


def within(name: str, values: FloatArray, bounds: object) -> FloatArray:
    """Values inside the range that an interval is clipped to; otherwise clipping could leave no width."""
    low, high = (number("bounds", end) for end in pair("bounds", bounds))
    if not low < high:
        raise ValueError(f"bounds ({low}, {high}) must rise.")
    outside = values[(values < low) | (values > high)]
    if outside.size:
        raise ValueError(f"{name} holds {outside.flat[0]}; each must lie in the bounds ({low}, {high}).")
    return values


def rates(name: str, values: ArrayLike) -> FloatArray:
    """Rates of one or more cases, shape (cases,), each in [0, 1]."""
    array = sample(name, values)
    outside = array[(array < 0) | (array > 1)]
    if len(outside):
        raise ValueError(f"{name} holds {outside[0]}; a rate must lie in [0, 1].")
    return array


def same_length(left_name: str, left: FloatArray, right_name: str, right: FloatArray) -> None:
    """Two lists whose items go together."""
    if len(left) != len(right):
        raise ValueError(f"{left_name} ({len(left)} items) and {right_name} ({len(right)}) must be as long.")
