"""Calibration of the cost methods by simulation, seeded: what nominal 95% is worth, and by the sources."""

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

import tiltyard_stats as stats

CELLS = 2_000
pytestmark = pytest.mark.slow


def lognormal(rng: np.random.Generator, cv: float, size: tuple[int, ...]) -> NDArray[np.float64]:
    """Costs with mean 1 and the given coefficient of variation."""
    sigma = sqrt(log(1 + cv**2))
    return rng.lognormal(-(sigma**2) / 2, sigma, size)


def coverage(method: str, n: int, cv: float) -> float:
    """Share of cells whose interval holds the true ratio of 2."""
    rng = np.random.default_rng(n)
    arm, base = lognormal(rng, cv, (CELLS, n)), 0.5 * lognormal(rng, cv, (CELLS, n))
    ratios = stats.cost_ratios(arm, base, method=method, resamples=1_500, exact=n == 4)
    return float(((ratios.low <= 2) & (ratios.high >= 2)).mean())


@pytest.mark.parametrize(("n", "cv"), list(product([4, 8, 20], [0.3, 0.5, 0.8])))
@pytest.mark.parametrize("method", ["log-t", "expanded", "fieller", "geometric"])
def test_offered_methods_cover(method: str, n: int, cv: float) -> None:
    """At least 92%, and not padded beyond 98%."""
    assert 0.92 <= coverage(method, n, cv) <= 0.98


@pytest.mark.parametrize(
    ("method", "n", "low", "high"),
    [
        ("source-report", 4, 0.61, 0.69),
        ("source-report", 8, 0.69, 0.77),
        ("source-report", 20, 0.76, 0.83),
        ("source-compare", 4, 0.82, 0.88),
        ("source-compare", 8, 0.87, 0.93),
        ("source-compare", 20, 0.91, 0.96),
    ],
)
@pytest.mark.parametrize("cv", [0.3, 0.8])
def test_the_rules_of_the_sources_fall_short(method: str, n: int, low: float, high: float, cv: float) -> None:
    """The source's report covers 65 to 81%, its compare 85 to 94%: why neither is the default."""
    assert low <= coverage(method, n, cv) <= high


@pytest.mark.parametrize(("questions", "runs"), [(2, 4), (5, 3), (10, 2)])
def test_over_questions_covers_questions_like_these(questions: int, runs: int) -> None:
    """With ratios that differ between questions only t over questions covers the value behind them."""
    rng = np.random.default_rng(questions)
    held = {"over-questions": 0, "source-report": 0}
    for _ in range(600):
        factors = np.exp(rng.normal(0, 0.3, questions))
        arm = factors[:, np.newaxis] * lognormal(rng, 0.4, (questions, runs))
        base = lognormal(rng, 0.4, (questions, runs))
        for method in held:
            ratio = stats.cost_ratio_stratified(list(arm), list(base), method=method, resamples=400)
            held[method] += ratio.low <= 1 <= ratio.high

    assert held["over-questions"] / 600 >= 0.92
    assert held["source-report"] / 600 <= 0.88


@pytest.mark.parametrize(("questions", "runs"), [(2, 4), (5, 3), (10, 2)])
def test_totals_and_percentile_over_questions_cover(questions: int, runs: int) -> None:
    """For these questions, of very different cost; one draw a cell leaves the bootstrap a little short."""
    rng, level = np.random.default_rng(questions), 3.0 ** np.arange(questions)[:, np.newaxis]
    totals = percentile = 0
    for _ in range(500):
        arm, base = (level * lognormal(rng, 0.4, (questions, runs)) for _ in range(2))
        whole = stats.cost_ratio_totals(list(arm), list(base))
        drawn = stats.cost_ratio_stratified(
            list(arm), list(base), method="percentile", resamples=400, rng=1, exact=False
        )
        totals += whole.low <= 1 <= whole.high
        percentile += drawn.low <= 1 <= drawn.high

    assert totals / 500 >= 0.92
    assert percentile / 500 >= 0.90


@pytest.mark.parametrize(("n", "cv"), list(product([4, 8], [0.3, 0.8])))
def test_nine_unchanged_cells(n: int, cv: float) -> None:
    """A false verdict in any of nine: at most 10% with log-t and Holm; by the source's rule most reports."""
    rng, reports = np.random.default_rng(7), 500
    arm, base = lognormal(rng, cv, (reports * 9, n)), lognormal(rng, cv, (reports * 9, n))
    # With Holm a report has a verdict exactly when its smallest p value passes at a ninth of alpha.
    strict = stats.cost_ratios(arm, base, confidence=1 - 0.05 / 9)
    source = stats.cost_ratios(arm, base, method="source-compare", resamples=1_000, exact=n == 4)

    def any_verdict(ratios: stats.Intervals) -> float:
        apart = (ratios.low > 1) | (ratios.high < 1)
        return float(apart.reshape(reports, 9).any(axis=1).mean())

    assert any_verdict(strict) <= 0.10
    assert any_verdict(source) >= 0.44


@pytest.mark.parametrize(("trials", "rate"), [(10, 0.8), (20, 0.6), (20, 0.8)])
def test_cost_per_success_covers(trials: int, rate: float) -> None:
    """Costs of failures count too; trials with fewer than five successes give no interval."""
    rng = np.random.default_rng(trials)
    held = []
    for _ in range(1_500):
        spent, won = lognormal(rng, 0.5, (trials,)), rng.random(trials) < rate
        each = stats.cost_per_success(spent, won)
        if each.known:
            held.append(each.low <= 1 / rate <= each.high)

    assert np.mean(held) >= 0.92


def test_paired_per_success_covers() -> None:
    """Ratio and difference of paired arms that share the difficulty of a trial."""
    rng = np.random.default_rng(5)
    ratio_held, delta_held = [], []
    for _ in range(500):
        shared = lognormal(rng, 0.6, (20,))
        arm = 1.5 * shared * lognormal(rng, 0.3, (20,)), rng.random(20) < 0.8
        base = shared * lognormal(rng, 0.3, (20,)), rng.random(20) < 0.8
        ratio = stats.cost_per_success_ratio(*arm, *base, paired=True)
        delta = stats.cost_per_success_delta(arm, base, resamples=500)
        ratio_held.append(ratio.low <= 1.5 <= ratio.high)
        delta_held.append(delta.low <= 0.5 / 0.8 <= delta.high)

    assert np.mean(ratio_held) >= 0.92
    assert np.mean(delta_held) >= 0.92


@pytest.mark.parametrize(
    ("n", "expanded", "percentile"), [(4, 0.86, 0.79), (8, 0.94, 0.88), (20, 0.95, 0.93)]
)
def test_what_bootstraps_of_a_mean_are_worth(n: int, expanded: float, percentile: float) -> None:
    """Normal data: few observations cannot say what lies beyond them, so Student's t is the default."""
    values = np.random.default_rng(n).normal(10, 2, (CELLS, n))
    for method, expected in (("expanded", expanded), ("percentile", percentile)):
        means = stats.bootstrap_means(values, method=method, resamples=1_500, exact=n == 4)
        held = ((means.low <= 10) & (means.high >= 10)).mean()

        assert held == pytest.approx(expected, abs=0.02)
