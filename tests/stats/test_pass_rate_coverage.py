"""Calibration of pass rates by simulation, seeded: coverage, false alarms of the drop gate, sizes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as oracle

import tiltyard_stats as stats
from tiltyard_stats.fixed_cases import ENOUGH_FLAKY, effective, fixed_kernel
from tiltyard_stats.proportion import wilson_bounds
from tiltyard_stats.two_proportions import mover

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
TRIALS = 10_000
pytestmark = pytest.mark.slow


def _auto(passes: Counts, runs: Counts, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Estimate and bounds of `fixed_cases` by "auto", one row of passes per simulated report."""
    kernel = fixed_kernel(passes, runs)
    own = (kernel.flaky >= ENOUGH_FLAKY) & (runs > 1).all()
    n_eff = np.where(own, effective(kernel, runs, "wilson-neff"), effective(kernel, runs, "wilson"))
    return kernel.estimate, *wilson_bounds(kernel.estimate, n_eff, oracle.norm.ppf(0.5 + confidence / 2))


def _half(flaky: int, rate: float, cases: int = 100) -> Floats:
    """Some flaky cases; of the others half always pass."""
    rest = cases - flaky
    return np.concatenate([np.full(flaky, rate), np.ones(rest - rest // 2), np.zeros(rest // 2)])


def _beta(seed: int, cases: int, a: float = 0.5, b: float = 0.5) -> Floats:
    return np.random.default_rng(seed).beta(a, b, cases)


@pytest.mark.parametrize(
    ("rates", "runs"),
    [
        (_half(3, 0.5), 2),  # "wilson-neff" covers 81% here
        (_half(6, 0.3), 2),  # and 90% here
        (_half(14, 0.5), 2),
        (_half(20, 0.5), 2),
        (_half(60, 0.1), 2),
        (_beta(1, 114), 2),
        (_beta(1, 100), 3),
        (_beta(1, 30), 2),
        (_beta(1, 20, 2.0), 2),
        (_beta(2, 60), np.arange(60) % 4 + 2),
        (_beta(3, 60), np.arange(60) % 4 + 1),
    ],
)
def test_fixed_cases_cover(rates: Floats, runs: int | Counts) -> None:
    """A nominal 95% interval covers at least 93%, also with few flaky cases and with unequal runs."""
    each = np.broadcast_to(np.asarray(runs), rates.shape)
    passes = np.random.default_rng(0).binomial(each, rates, (TRIALS, len(rates)))
    _, low, high = _auto(passes, each, 0.95)
    covered = ((low <= rates.mean()) & (rates.mean() <= high)).mean()

    assert covered >= 0.93


def test_the_simulation_uses_what_the_function_does() -> None:
    """The rows above are the results of `fixed_cases`, and the differences those of `fixed_cases_diff`."""
    rng = np.random.default_rng(1)
    for cases, runs in ((100, np.full(100, 2)), (12, np.full(12, 2)), (60, np.arange(60) % 4 + 1)):
        ours, theirs = rng.binomial(runs, _beta(cases, cases), (2, cases))
        result, other = (_auto(passes[np.newaxis], runs, 0.9) for passes in (ours, theirs))
        rate = stats.fixed_cases(ours, runs, confidence=0.9)
        diff = stats.fixed_cases_diff(ours, runs, theirs, runs, confidence=0.9)
        assert (rate.low, rate.high) == pytest.approx((result[1][0], result[2][0]))
        assert (diff.low, diff.high) == pytest.approx(tuple(bound[0] for bound in mover(result, other)))


@pytest.mark.parametrize(
    ("rates", "runs"),
    [
        (_half(3, 0.5, 114), (2, 4)),
        (_half(12, 0.5, 114), (2, 4)),
        (_half(40, 0.3, 114), (2, 4)),
        (_beta(1, 114), (2, 4)),
        (_beta(2, 114, 1.0, 1.0), (2, 4)),
        (_beta(3, 114, 2.0), (2, 4)),
        (_beta(1, 8), (2, 2)),
    ],
)
def test_the_drop_gate_rarely_cries_wolf(rates: Floats, runs: tuple[int, int]) -> None:
    """No change, one-sided 5%: the upper bound of the 90% interval is below 0 in at most 6% of reports.

    A plug-in variance cries wolf in 8 to 13%.
    """
    rng = np.random.default_rng(2)
    arms = []
    for r in runs:
        passes = rng.binomial(r, rates, (TRIALS, len(rates)))
        arms.append(_auto(passes, np.full(len(rates), r), 0.9))
    low, high = mover(*arms)

    assert (high < 0).mean() <= 0.06
    assert (low > 0).mean() <= 0.06
    assert ((low <= 0) & (high >= 0)).mean() >= 0.88


def test_the_drop_gate_finds_a_drop() -> None:
    """8 points fewer on 114 cases, 2 runs against 4, fail in most reports."""
    rng, rates = np.random.default_rng(3), _beta(1, 114)
    dropped = rates * (1 - 0.08 / rates.mean())
    ours = _auto(rng.binomial(2, dropped, (TRIALS, 114)), np.full(114, 2), 0.9)
    theirs = _auto(rng.binomial(4, rates, (TRIALS, 114)), np.full(114, 4), 0.9)

    assert (mover(ours, theirs)[1] < 0).mean() >= 0.80


@pytest.mark.parametrize("rates", [_beta(1, 114), _half(12, 0.5, 114), _beta(4, 20)])
def test_the_stratified_test_keeps_its_size(rates: Floats) -> None:
    """Exact p below 5% in at most 5% of unchanged reports, mid-p in at most 6%, and not far fewer."""
    rng, reports = np.random.default_rng(4), 1_500
    passes = rng.binomial(2, rates, (reports, len(rates))), rng.binomial(4, rates, (reports, len(rates)))
    tests = [stats.stratified_test(ours, 2, theirs, 4) for ours, theirs in zip(*passes, strict=True)]
    exact = np.mean([test.p_drop < 0.05 for test in tests])
    mid = np.mean([test.midp_drop < 0.05 for test in tests])

    assert exact <= 0.055
    assert 0.02 <= mid <= 0.06


def test_one_run_each_covers() -> None:
    """McNemar's situation: the paired difference of one run per arm, by the rule of "auto"."""
    rng, inside = np.random.default_rng(5), []
    for rates in (_half(8, 0.5), _half(40, 0.5), _beta(6, 100)):
        covered = []
        for ours, theirs in zip(*rng.binomial(1, rates, (2, 400, 100)), strict=True):
            diff = stats.fixed_cases_diff(ours, 1, theirs, 1)
            covered.append(diff.low <= 0 <= diff.high)
        inside.append(np.mean(covered))

    assert min(inside) >= 0.92


@pytest.mark.parametrize(
    ("kind", "least", "average"),
    [
        (stats.wilson, {4: 0.87, 8: 0.89, 20: 0.915}, 0.95),
        (stats.mid_p, {4: 0.95, 8: 0.925, 20: 0.925}, 0.955),
        (stats.clopper_pearson, {4: 0.95, 8: 0.95, 20: 0.95}, 0.97),
        (stats.jeffreys, {4: 0.86, 8: 0.87, 20: 0.89}, 0.94),
    ],
)
@pytest.mark.parametrize("n", [4, 8, 20])
def test_rates_cover_exactly(
    kind: Callable[..., stats.Intervals], least: dict[int, float], average: float, n: int
) -> None:
    """Coverage by summing the binomial law over rates from .05 to .95: no simulation error."""
    k, rates = np.arange(n + 1), np.linspace(0.05, 0.95, 901)
    rows = kind(k, np.full(n + 1, n))
    law = oracle.binom.pmf(k, n, rates[:, np.newaxis])
    inside = (rows.low <= rates[:, np.newaxis]) & (rates[:, np.newaxis] <= rows.high)
    coverage = (law * inside).sum(axis=1)

    assert coverage.min() >= least[n]
    assert coverage.mean() >= average


@pytest.mark.parametrize(("cases", "runs", "a"), [(20, 5, 0.5), (50, 5, 0.125), (100, 2, 0.5)])
def test_rates_of_sampled_cases_cover(cases: int, runs: int, a: float) -> None:
    """t over cases covers the population's rate; Wilson on attempts covers 66 to 89%."""
    rng = np.random.default_rng(6)
    passes = rng.binomial(runs, rng.beta(a, a, (1_500, cases)))
    results = [stats.pass_at_k(row, runs, 1) for row in passes]
    naive = stats.wilson(passes.sum(axis=1), np.full(1_500, cases * runs))

    assert np.mean([result.low <= 0.5 <= result.high for result in results]) >= 0.93
    assert ((naive.low <= 0.5) & (naive.high >= 0.5)).mean() <= 0.91


def test_cr2_covers_with_few_unequal_groups() -> None:
    """Six groups, one of them half of all cases: the bias-reduced form covers, the plain one does not."""
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(6), [20, 4, 4, 4, 4, 4])
    inside: dict[Any, list[bool]] = {"cr1": [], "cr2": []}
    for _ in range(1_000):
        values = rng.normal(0, 1, 40) + rng.normal(0, 0.5, 6)[groups]
        for method, found in inside.items():
            result = stats.clustered(values, groups, method=method)
            found.append(result.low <= 0 <= result.high)

    assert np.mean(inside["cr2"]) >= 0.93
    assert np.mean(inside["cr1"]) < np.mean(inside["cr2"])


def test_shock_check_keeps_its_size_and_finds_shocks() -> None:
    """With many flaky cases its size is near 5%; with few it finds hardly anything, as it warns."""
    rng = np.random.default_rng(8)
    rates = rng.beta(1, 1, 100)
    calm = [stats.shock_test(rng.random((3, 100)) < rates).pvalue < 0.05 for _ in range(1_500)]
    few = [stats.shock_test(rng.random((2, 20)) < rng.beta(0.1, 0.1, 20)).pvalue < 0.05 for _ in range(500)]
    shift = np.array([[0.0], [0.0], [-0.25]])
    shocked = [stats.shock_test(rng.random((3, 100)) < rates + shift).pvalue < 0.05 for _ in range(300)]

    assert 0.03 <= np.mean(calm) <= 0.07
    assert np.mean(few) <= 0.03
    assert np.mean(shocked) >= 0.8
