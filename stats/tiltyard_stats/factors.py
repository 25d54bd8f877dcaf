"""What each level of a factor averages, over the variants that share it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray

Design = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class FactorLevel:
    """One level of a factor."""

    factor: str
    level: str
    mean: float
    """Unweighted mean over the variants with this level."""
    adjusted: float
    """Mean with the other factors held equal, from main effects; NaN where they cannot be told apart."""
    variants: int
    """How many variants have the level."""


@dataclass(frozen=True, slots=True)
class FactorLevels:
    """All levels of all factors that vary."""

    levels: tuple[FactorLevel, ...]
    label: str
    """`balanced` when each pair of levels of two factors is met equally often: the plain means are then
    comparable. Else `unadjusted`."""
    warnings: tuple[str, ...] = ()
    """`unadjusted`, `confounded` (some factors change only together)."""


def factor_levels(design: Design, values: ArrayLike) -> FactorLevels:
    """Average the variants of an experiment by the levels of its factors.

    Parameters
    ----------
    design : sequence of mappings, one per variant
        Level of each factor; all variants name the same factors.
    values : array of float, shape (variants,)
        The measure of each variant.

    Returns
    -------
    FactorLevels
        Factors with at least two levels, in the order of the first variant; levels in order of appearance.

    Raises
    ------
    ValueError
        When there is no variant, a value is missing, the lengths differ, or variants name other factors.

    Notes
    -----
    The adjusted mean is that of a least-squares fit of main effects, averaged over the levels of the other
    factors with equal weights [1]_. In a balanced design it is the plain mean.

    References
    ----------
    .. [1] Searle, S. R., Speed, F. M. and Milliken, G. A. (1980). Population marginal means in the linear
           model: an alternative to least squares means. Am. Stat. 34.

    Examples
    --------
    >>> design = [
    ...     {"model": "a", "tools": "on"},
    ...     {"model": "a", "tools": "off"},
    ...     {"model": "b", "tools": "on"},
    ... ]
    >>> table = factor_levels(design, [0.8, 0.6, 0.5])
    >>> table.label
    'unadjusted'
    >>> [(row.level, round(row.mean, 2), round(row.adjusted, 2)) for row in table.levels]
    [('a', 0.7, 0.7), ('b', 0.5, 0.4), ('on', 0.65, 0.65), ('off', 0.6, 0.45)]
    """
    measured = check.sample("values", values)
    if len(design) != len(measured):
        raise ValueError(f"design ({len(design)} variants) and values ({len(measured)}) must be as long.")
    varying = _varying(design)
    fit = _fit(design, varying, measured)
    rows = tuple(
        _level(design, measured, fit, (factor, level))
        for factor, levels in varying.items()
        for level in levels
    )
    confounded = any(np.isnan(row.adjusted) for row in rows)
    label = "balanced" if _balanced(design, varying) else "unadjusted"
    codes = (("unadjusted",) if label == "unadjusted" else ()) + (("confounded",) if confounded else ())
    return FactorLevels(rows, label, codes)


def _varying(design: Design) -> dict[str, list[str]]:
    names = list(design[0])
    for place, variant in enumerate(design):
        if set(variant) != set(names):
            raise ValueError(f"design[{place}] ({sorted(variant)}) must name the factors {sorted(names)}.")
    levels = {name: list(dict.fromkeys(variant[name] for variant in design)) for name in names}
    return {name: found for name, found in levels.items() if len(found) > 1}


def _balanced(design: Design, varying: Mapping[str, list[str]]) -> bool:
    for left, right in combinations(varying, 2):
        met = Counter((variant[left], variant[right]) for variant in design)
        if len(met) < len(varying[left]) * len(varying[right]) or len(set(met.values())) > 1:
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Fit:
    """Main effects, each level as its own column beside the overall mean."""

    columns: dict[tuple[str, str], int]
    varying: Mapping[str, list[str]]
    effects: FloatArray
    row_space: FloatArray


def _fit(design: Design, varying: Mapping[str, list[str]], values: FloatArray) -> _Fit:
    keys = [(factor, level) for factor, levels in varying.items() for level in levels]
    columns = {key: place + 1 for place, key in enumerate(keys)}
    matrix = np.zeros((len(design), len(keys) + 1))
    matrix[:, 0] = 1
    for row, variant in enumerate(design):
        for factor in varying:
            matrix[row, columns[factor, variant[factor]]] = 1
    inverse = np.linalg.pinv(matrix)
    return _Fit(columns, varying, inverse @ values, inverse @ matrix)


def _level(design: Design, values: FloatArray, fit: _Fit, key: tuple[str, str]) -> FactorLevel:
    factor, level = key
    chosen = np.array([variant[factor] == level for variant in design])
    question = np.zeros(len(fit.effects))
    question[0] = question[fit.columns[key]] = 1
    for other, levels in fit.varying.items():
        if other != factor:
            question[[fit.columns[other, name] for name in levels]] = 1 / len(levels)
    # Only what the variants combine to can be estimated; the rest is confounded.
    estimable = np.allclose(question @ fit.row_space, question, atol=1e-8)
    adjusted = float(question @ fit.effects) if estimable else nan
    return FactorLevel(factor, level, float(values[chosen].mean()), adjusted, int(chosen.sum()))
