"""The trend along the order: against least squares with dummies, and its false alarms."""

from math import isnan

import numpy as np
import pytest
from statsmodels.api import OLS  # type: ignore[import-untyped]

from tiltyard_stats.trend import trend


def test_it_is_least_squares_with_a_level_for_each_cell() -> None:
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 6, 60)
    places = rng.permutation(60).astype(float)
    values = rng.normal(size=6)[cells] + 0.01 * places + rng.normal(size=60)
    dummies = (cells[:, None] == np.arange(6)).astype(float)
    fitted = OLS(values, np.column_stack([dummies, places / 59])).fit()
    found = trend(values, places, cells, confidence=0.9)

    assert found.estimate == pytest.approx(fitted.params[6])
    assert (found.low, found.high) == pytest.approx(tuple(fitted.conf_int(0.1)[6]))
    assert found.pvalue == pytest.approx(fitted.pvalues[6])
    assert found.df == fitted.df_resid


def test_a_mix_of_cells_that_changes_is_no_trend() -> None:
    """Dear questions at the end: the mean goes up and nothing drifts."""
    rng = np.random.default_rng(2)
    cells = np.repeat([0, 1], 20)
    values = np.where(cells == 0, 1.0, 5.0) + rng.normal(0, 0.1, 40)

    assert abs(trend(values, np.arange(40.0), cells).estimate) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("binary", [False, True])
def test_false_alarms(*, binary: bool) -> None:
    """At most 6% of trials without drift are said to have one, of skewed costs and of passes."""
    rng = np.random.default_rng(3)
    cells = np.tile(np.arange(10), 6)
    alarms = 0
    for _ in range(3000):
        values = (rng.random(60) < 0.7).astype(float) if binary else rng.normal(0, 0.5, 60)
        alarms += trend(values, np.arange(60.0), cells).pvalue < 0.05

    assert 0.03 < alarms / 3000 < 0.06


@pytest.mark.parametrize(
    ("values", "places", "cells", "code"),
    [
        ([1.0, 2.0], [0, 1], [0, 1], "n<2"),
        ([1.0, 2.0], [0, 1], [0, 0], "n<2"),
        ([1.0, 2.0, 3.0], [4, 4, 4], [0, 0, 0], "n<2"),
        ([2.0, 2.0, 2.0, 2.0], [0, 1, 2, 3], [0, 0, 0, 0], "zero-variance"),
    ],
)
def test_what_shows_no_spread_has_no_bounds(
    values: list[float], places: list[float], cells: list[int], code: str
) -> None:
    found = trend(values, places, cells)

    assert found.warnings == (code,)
    assert isnan(found.low)
    assert isnan(found.pvalue)
    assert not found.excludes(0)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="cells"):
        trend([1.0, 2.0], [0, 1], [0])
    with pytest.raises(ValueError, match="values"):
        trend([], [], [])
