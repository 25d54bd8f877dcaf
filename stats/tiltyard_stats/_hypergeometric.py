"""The hypergeometric law: what the margins of a table leave to chance when the rates are equal."""

from functools import lru_cache
from math import comb

import numpy as np

from tiltyard_stats._result import FloatArray
from tiltyard_stats._special import log_binomial

# Up to here exact integers are cheap; beyond, logarithms are exact enough.
_INTEGER_LIMIT = 2000


def lowest(population: int, marked: int, drawn: int) -> int:
    """The fewest marked items that a draw can hold."""
    return max(0, drawn - (population - marked))


def cdf(x: int, population: int, marked: int, drawn: int) -> float:
    """P(X <= x) for X marked items among those drawn."""
    return _sum(lowest(population, marked, drawn), x, population, marked, drawn)


def pmf(x: int, population: int, marked: int, drawn: int) -> float:
    """P(X = x) for X marked items among those drawn."""
    return _sum(x, x, population, marked, drawn)


def _sum(first: int, last: int, population: int, marked: int, drawn: int) -> float:
    if population <= _INTEGER_LIMIT:
        ways = sum(comb(marked, i) * comb(population - marked, drawn - i) for i in range(first, last + 1))
        return ways / comb(population, drawn)
    i = np.arange(first, last + 1)
    logs = (
        log_binomial(marked, i)
        + log_binomial(population - marked, drawn - i)
        - log_binomial(population, drawn)
    )
    return min(1.0, float(np.exp(logs).sum()))


@lru_cache(maxsize=4096)
def _law(population: int, marked: int, drawn: int) -> tuple[float, ...]:
    low, high = lowest(population, marked, drawn), min(marked, drawn)
    return tuple(pmf(x, population, marked, drawn) for x in range(low, high + 1))


def law(population: int, marked: int, drawn: int) -> FloatArray:
    """All probabilities, from the fewest marked items on."""
    return np.array(_law(population, marked, drawn))
