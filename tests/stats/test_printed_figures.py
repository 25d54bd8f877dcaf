"""Figures that the source systems print, reproduced to the digit. R is Agent Trial Rig, S is agentstats."""

from collections.abc import Callable

import numpy as np
import pytest

import tiltyard_stats as stats
from tiltyard_stats import (
    cost_ratio,
    cost_ratio_stratified,
    cv,
    fisher_drop,
    mean_interval,
    pilot_factor,
    runs_per_arm,
    wilson,
)

# S: 100 cases, two runs, 8 flaky ones that all passed in the first run.
PASSES_OF_S = [2] * 40 + [0] * 52 + [1] * 8
RUNS_OF_S = [[1] * 40 + [0] * 52 + [1] * 8, [1] * 40 + [0] * 60]


@pytest.mark.parametrize(
    ("spread", "runs"), [(0.338, 45), (0.34, 46), (0.26, 27), (0.3349, 45), (0.3386, 45), (0.3387, 46)]
)
def test_runs_per_arm_of_r(spread: float, runs: int) -> None:
    """R prints 45 beside a cv of 0.34: right for the unrounded cv; n never comes from a rounded one."""
    assert runs_per_arm(spread, 0.2, method="normal").runs == runs


def test_runs_per_arm_of_the_log_rule() -> None:
    """The harder direction is +20%: 52 runs at cv .34, where -20% alone would need 35."""
    assert runs_per_arm(0.34).runs == 52
    assert runs_per_arm(0.34, direction="dearer").runs == 52
    assert runs_per_arm(0.34, direction="cheaper").runs == 35


def test_drop_of_r() -> None:
    """R: 4/4 to 0/4 gives p=0.01, one-sided Fisher, 1 in 70."""
    result = fisher_drop(4, 4, 0, 4)

    assert result.pvalue == 1 / 70
    assert f"{result.pvalue:.2f}" == "0.01"


@pytest.mark.parametrize(
    ("successes", "n", "confidence", "printed"),
    [(58, 228, 0.90, "25.4 21.0 30.5"), (32, 61, 0.95, "52.5 40.2 64.5")],
)
def test_lookup_rates_of_s(successes: int, n: int, confidence: float, printed: str) -> None:
    """S: lookup 25.4% (21.0-30.5) at 90% and 52.5% (40.2-64.5) at 95%, Wilson."""
    result = wilson(successes, n, confidence=confidence)

    assert " ".join(f"{100 * value:.1f}" for value in (result.estimate, result.low, result.high)) == printed


def test_t_over_runs_of_s() -> None:
    """S: 44.0% (0.0 to 94.8), Student's t over two runs, clipped to [0, 1]."""
    result = mean_interval([0.48, 0.40], bounds=(0, 1))

    assert (result.estimate, result.low) == (pytest.approx(0.44), 0.0)
    assert f"{100 * result.high:.1f}" == "94.8"


@pytest.mark.parametrize(("df", "factor"), [(3, 1.73), (6, 1.40), (7, 1.35), (14, 1.22)])
def test_pilot_factor(df: int, factor: float) -> None:
    """One arm of 4 runs 1.73, two of 4 1.40, one of 8 1.35, one of 15 1.22."""
    assert round(pilot_factor(df), 2) == factor


def test_pooling_questions_is_no_run_noise() -> None:
    """R pools its cv over questions, so that their difference counts as noise of the runs: a flaw."""
    cells = [[9.0, 10.0, 11.0], [90.0, 100.0, 110.0]]

    assert cv(cells).cv == pytest.approx(0.1)
    assert cv([cells[0] + cells[1]]).cv > 0.9


def test_compare_of_r() -> None:
    """R compare: 0.70x (0.52 to 1.00) for 33,33,50,73 against four 33, by all 4^4 resamples of both sides."""
    result = cost_ratio([33, 33, 33, 33], [33, 33, 50, 73], method="source-compare")

    assert f"{result.estimate:.2f} {result.low:.2f} {result.high:.2f}" == "0.70 0.52 1.00"
    assert result.method == "source-compare-exact"


def test_report_of_r() -> None:
    """R report: 1.18 (0.84 to 1.52), relative costs pooled over questions, baseline noise ignored."""
    result = cost_ratio_stratified([[73], [73]], [[87], [48]], method="source-report")

    assert f"{result.estimate:.2f} {result.low:.2f} {result.high:.2f}" == "1.18 0.84 1.52"
    assert (result.low, result.high) == pytest.approx((73 / 87, 73 / 48))


def test_log_t_keeps_the_estimate_of_r() -> None:
    """The default keeps R's estimate, not its bounds."""
    result = cost_ratio([33, 33, 33, 33], [33, 33, 50, 73])

    assert f"{result.estimate:.2f}" == "0.70"
    assert result.low < 0.52
    assert result.high > 1.0


def test_drop_of_r_is_fisher() -> None:
    """R's p = 0.01 cannot be Boschloo's test, which would print 0.00."""
    assert round(stats.boschloo_drop(4, 4, 0, 4).pvalue, 4) == 0.0039


def _printed(result: stats.Interval, form: str = ".1f") -> str:
    return " ".join(format(100 * value, form) for value in (result.estimate, result.low, result.high))


def test_pass_rate_of_s() -> None:
    """S: 44.0% (41.2 to 46.8), the normal interval with the variance within cases, v = 2e-4."""
    rate = stats.fixed_cases(PASSES_OF_S, 2, method="source")

    assert rate.variance == pytest.approx(2e-4)
    assert _printed(rate) == "44.0 41.2 46.8"
    assert stats.fixed_cases(PASSES_OF_S, 2).low < rate.low  # 8 flaky cases are no guide to their variance


def test_shock_of_s() -> None:
    """S: 8.0x, p = 0.005, chi-squared; the exact permutation p would print 0.008."""
    test = stats.shock_test(RUNS_OF_S)

    assert (f"{test.ratio:.1f}x", f"{test.pvalue:.3f}") == ("8.0x", "0.005")
    assert test.pvalue == pytest.approx(0.00468, abs=1e-5)
    assert stats.shock_test_exact(RUNS_OF_S).pvalue == 2 / 256


def test_curated_example_of_s() -> None:
    """S: with that shock and two runs the interval over runs is 0.0 to 94.8, and only a rerun helps."""
    result = stats.curated(RUNS_OF_S)

    assert result.rule == "rerun"
    assert _printed(stats.runs_t([0.48, 0.40])) == "44.0 0.0 94.8"


@pytest.mark.parametrize(
    ("rate", "k", "printed"),
    [
        (stats.pass_at_k, 1, (0.44, 0.345, 0.535)),
        (stats.pass_at_k, 2, (0.48, 0.38, 0.58)),
        (stats.pass_hat_k, 2, (0.40, 0.30, 0.50)),
    ],
)
def test_repeats_of_s(rate: Callable[..., stats.Interval], k: int, printed: tuple[float, ...]) -> None:
    """S: pass@1 34.5-53.5, pass@2 48 (38-58), pass^2 40 (30-50), percentile bootstrap over cases.

    The lower end of pass^2 depends on the seed: 30 or 31.
    """
    result = rate(PASSES_OF_S, 2, k, method="source")

    assert (result.estimate, result.low, result.high) == pytest.approx(printed, abs=0.0101)


def test_repeats_of_s_are_not_t() -> None:
    """Student's t over cases prints the same for pass@1; Wilson's serves where all values are 0 or 1."""
    assert _printed(stats.pass_at_k(PASSES_OF_S, 2, 1)) == "44.0 34.5 53.5"
    assert stats.pass_hat_k(PASSES_OF_S, 2, 2).method == "wilson"
    assert _printed(stats.mean_interval([1.0] * 40 + [0.0] * 60)) == "40.0 30.2 49.8"


def test_comparison_of_s() -> None:
    """S: +1.0 (-6.2 to +8.2), p = 1, from 7 and 6 discordant cases of 100; z would print -6.1 to +8.1."""
    difference = stats.paired_diff_t(7, 6, 87)

    assert _printed(difference, "+.1f") == "+1.0 -6.2 +8.2"
    assert difference.standard_error == pytest.approx(0.036223, abs=1e-6)
    assert stats.mcnemar(7, 6).pvalue == 1.0


def test_small_sample_correction_of_s() -> None:
    """S: false alarms of a 5% drop gate fall from 6.8% to 5.8% by N/(N-1), which is the CMH variance.

    Simulated for 114 cases, 2 runs against 4: about 7.0% without and 5.4% with it.
    """
    rng, reports = np.random.default_rng(0), 4_000
    rates = rng.beta(0.5, 0.5, 114)
    ours, theirs = rng.binomial(2, rates, (reports, 114)), rng.binomial(4, rates, (reports, 114))
    marked = ours + theirs
    plain = (marked * (6 - marked) / 36 * (1 / 2 + 1 / 4)).sum(axis=1)
    z = (ours / 2 - theirs / 4).sum(axis=1) / np.sqrt(plain)
    corrected = z / np.sqrt(6 / 5)
    ours_z = [
        np.sign(test.statistic) * test.cmh_statistic**0.5
        for test in (stats.stratified_test(a, 2, b, 4) for a, b in zip(ours[:50], theirs[:50], strict=True))
    ]

    assert ours_z == pytest.approx(corrected[:50].tolist())
    assert 0.06 <= (z < -1.6449).mean() <= 0.085
    assert 0.041 <= (corrected < -1.6449).mean() <= 0.06


def test_pass_hat_six_of_l() -> None:
    """L: a pass@1 of 90% is a pass^6 of 53%, .9 to the sixth: right for one case with endless runs."""
    assert pytest.approx(float(stats.pass_hat_k_by_case(900_000, 1_000_000, 6)), abs=1e-5) == 0.9**6
    assert f"{0.9**6:.0%}" == "53%"
    assert stats.pass_hat_k([10] * 9 + [0], 10, 6).estimate == pytest.approx(0.9)


def test_smallest_difference_of_s() -> None:
    """S: +10.2 points beside +1.0 (-6.2 to +8.2) on 100 cases; two normal quantiles would print 10.1."""
    error = stats.paired_diff_t(7, 6, 87).standard_error

    assert f"{100 * stats.mde(error, 99):.1f}" == "10.2"
    assert f"{100 * stats.mde(error, float('inf')):.1f}" == "10.1"


def test_runs_to_settle_of_s() -> None:
    """S: about 6 runs settle +1.0 (-6.2 to +8.2) at a margin of 2 points."""
    difference = stats.paired_diff_t(7, 6, 87)
    result = stats.runs_to_settle(0.01, difference.estimate - difference.low, 0.02, runs=1)

    assert (result.runs, round(result.exact, 2)) == (6, 5.74)


def test_smoke_tier_of_s() -> None:
    """S: 20 cases on 1 run see drops of about 40 points; 39.3 one-sided, 44.3 two-sided."""
    assert f"{100 * stats.visible_drop(20, 1):.1f}" == "39.3"
    assert f"{100 * stats.visible_drop(20, 1, alpha=0.025):.1f}" == "44.3"


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [((0.70, 0.52, 1.00), "same"), ((2.99, 2.20, 4.31), "dearer"), ((0.5, 0.4, 0.7), "improved")],
)
def test_regression_of_r(bounds: tuple[float, float, float], verdict: str) -> None:
    """R: 0.70x (0.52 to 1.00) is the same, 2.99x (2.20 to 4.31) is dearer, at a tolerance of 10%."""
    ratio = stats.Interval(*bounds, 0.95, "source", 8, "these runs")
    result = stats.regression_verdict(fisher_drop(4, 4, 4, 4), ratio, n_old=4, n_new=4)

    assert result.verdict == verdict


def test_group_sequential_bounds() -> None:
    """Two looks at half the cap and at the cap: 2.9626 and 1.9686 by the O'Brien-Fleming function."""
    assert [round(bound, 4) for bound in stats.lan_demets([0.5, 1.0]).bounds] == [2.9626, 1.9686]


def test_pairs_for_parity() -> None:
    """A discordance of .2 and a margin of 10 points take 172 pairs."""
    assert stats.parity_pairs(0.2, 0.1) == 172
