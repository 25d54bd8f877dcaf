"""Calibration by simulation, seeded: what the nominal figures are worth on lognormal costs."""

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

import tiltyard_stats as stats

TRIALS = 8_000
pytestmark = pytest.mark.slow


def lognormal(rng: np.random.Generator, cv: float, size: tuple[int, ...]) -> NDArray[np.float64]:
    """Costs with mean 1 and the given coefficient of variation."""
    sigma = sqrt(log(1 + cv**2))
    return rng.lognormal(-(sigma**2) / 2, sigma, size)


@pytest.mark.parametrize(("n", "cv"), list(product([4, 8, 20], [0.3, 0.5, 0.8])))
def test_cost_ratio_covers(n: int, cv: float) -> None:
    """A nominal 95% interval covers at least 92%, and is not padded beyond 98%."""
    rng = np.random.default_rng(n)
    arm, base = lognormal(rng, cv, (TRIALS, n)), 0.5 * lognormal(rng, cv, (TRIALS, n))
    ratios = stats.cost_ratios(arm, base)
    covered = ((ratios.low <= 2) & (ratios.high >= 2)).mean()

    assert 0.92 <= covered <= 0.98


@pytest.mark.parametrize("sizes", [(4, 4), (2, 2, 2, 2), (4, 3, 1, 2)])
def test_stratified_cost_ratio_covers(sizes: tuple[int, ...]) -> None:
    """Also over questions of very different cost, few runs, and a lone run that borrows its spread."""
    rng, level = np.random.default_rng(5), 10.0 ** np.arange(len(sizes))
    inside = []
    for _ in range(1_500):
        arm, base = (
            [scale * lognormal(rng, 0.4, (n,)) for scale, n in zip(level, sizes, strict=True)]
            for _ in range(2)
        )
        ratio = stats.cost_ratio_stratified(arm, base)
        inside.append(ratio.low <= 1 <= ratio.high)

    assert np.mean(inside) >= 0.92


def test_mean_covers() -> None:
    """Student's t on normal data is exact; the normal quantile would cover 85.5% at n = 4."""
    values = np.random.default_rng(6).normal(10, 2, (TRIALS, 4))
    means = stats.mean_intervals(values)

    assert ((means.low <= 10) & (means.high >= 10)).mean() == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("n", [4, 8])
def test_nine_unchanged_cells_rarely_give_a_verdict(n: int) -> None:
    """At least one false verdict in nine: at most 10% with Holm (by the source's rule 44 to 76%)."""
    rng, reports = np.random.default_rng(7), 400
    false = 0
    for _ in range(reports):
        arm, base = lognormal(rng, 0.5, (9, n)), lognormal(rng, 0.5, (9, n))
        ratios = stats.cost_ratios(arm, base)
        adjusted = stats.holm(
            [stats.cost_ratio_test([x], [y]).pvalue for x, y in zip(arm, base, strict=True)]
        )
        verdicts = [
            stats.token_verdict(ratios[cell], n_arm=n, n_baseline=n, pvalue=float(adjusted[cell])).verdict
            for cell in range(9)
        ]
        false += any(verdict in {"cheaper", "dearer"} for verdict in verdicts)

    assert false / reports <= 0.10


@pytest.mark.parametrize("factor", [1.2, 0.8])
def test_the_planned_runs_find_the_effect(factor: float) -> None:
    """52 runs an arm at cv .34 find 20% more with nearly 80% power, and 20% less with more."""
    n = stats.runs_per_arm(0.34, 0.2).runs
    rng = np.random.default_rng(8)
    ratios = stats.cost_ratios(factor * lognormal(rng, 0.34, (TRIALS, n)), lognormal(rng, 0.34, (TRIALS, n)))
    power = ((ratios.low > 1) | (ratios.high < 1)).mean()

    assert power >= 0.76
