"""The statistics against scipy.stats and statsmodels, which only the tests import."""

import numpy as np
import pytest
from scipy import stats as oracle
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint

import tiltyard_stats as stats


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_wilson(confidence: float) -> None:
    """All counts up to 30 runs."""
    n = np.repeat(np.arange(1, 31), np.arange(2, 32))
    k = np.concatenate([np.arange(size + 1) for size in range(1, 31)])
    result = stats.wilson(k, n, confidence=confidence)
    low, high = proportion_confint(k, n, alpha=1 - confidence, method="wilson")

    np.testing.assert_allclose(result.low, np.where(k == 0, 0, low), atol=1e-12)
    np.testing.assert_allclose(result.high, np.where(k == n, 1, high), atol=1e-12)


@pytest.mark.parametrize(("old", "new"), [((9, 10), (5, 12)), ((0, 3), (3, 3)), ((1800, 2000), (1750, 2000))])
def test_fisher(old: tuple[int, int], new: tuple[int, int]) -> None:
    """Small and large tables; from 2,000 runs on the sum is done in logarithms."""
    table = [[new[0], new[1] - new[0]], [old[0], old[1] - old[0]]]
    expected = oracle.fisher_exact(table, alternative="less").pvalue

    assert stats.fisher_drop(*old, *new).pvalue == pytest.approx(expected, rel=1e-9)


def test_mean() -> None:
    """Rows of equal size at once, and one at a time."""
    values = np.random.default_rng(1).lognormal(0, 0.5, (20, 7))
    low, high = oracle.t.interval(0.9, 6, values.mean(axis=1), oracle.sem(values, axis=1))
    many = stats.mean_intervals(values, confidence=0.9)

    np.testing.assert_allclose(many.low, low)
    np.testing.assert_allclose(many.high, high)
    assert many[3] == stats.mean_interval(values[3], confidence=0.9)


def test_stratified_mean_of_two_cells_is_welch() -> None:
    """The half sum of two means has the standard error and the degrees of freedom of Welch's difference."""
    rng = np.random.default_rng(2)
    left, right = rng.normal(10, 1, 5), rng.normal(20, 4, 8)
    welch = oracle.ttest_ind(left, right, equal_var=False)
    interval = welch.confidence_interval(0.95)
    result = stats.stratified_mean([left, right])

    assert result.df == pytest.approx(welch.df)
    assert result.high - result.low == pytest.approx((interval.high - interval.low) / 2)


def test_cost_ratio_of_scaled_data() -> None:
    """The delta method for ln R is Welch's t with each side divided by its mean."""
    rng = np.random.default_rng(3)
    arm, base = rng.lognormal(1, 0.4, 6), rng.lognormal(2, 0.7, 9)
    welch = oracle.ttest_ind(arm / arm.mean(), base / base.mean(), equal_var=False)
    ratio = stats.cost_ratio(arm, base)

    assert ratio.df == pytest.approx(welch.df)
    half = oracle.t.ppf(0.975, welch.df) * ratio.standard_error
    assert (ratio.low, ratio.high) == pytest.approx(
        (ratio.estimate * np.exp(-half), ratio.estimate * np.exp(half))
    )


def test_holm() -> None:
    """Random p values with ties."""
    raw = np.random.default_rng(4).random(25).round(1)

    np.testing.assert_allclose(stats.holm(raw), multipletests(raw, method="holm")[1])


@pytest.mark.parametrize(("cv", "effect", "power"), [(0.34, 0.2, 0.8), (0.6, 0.15, 0.9), (0.2, 0.5, 0.8)])
def test_t_sample_size(cv: float, effect: float, power: float) -> None:
    """The exact two-sample size."""
    expected = TTestIndPower().solve_power(effect / cv, power=power, alpha=0.05)

    assert stats.runs_per_arm(cv, effect, power=power, method="t").exact == pytest.approx(expected, rel=1e-6)
