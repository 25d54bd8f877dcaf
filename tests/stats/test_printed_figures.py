"""Figures that the source systems print, reproduced to the digit. R is Agent Trial Rig, S is agentstats."""

import pytest

from tiltyard_stats import cost_ratio, cv, fisher_drop, mean_interval, pilot_factor, runs_per_arm, wilson


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


def test_old_compare_of_r_keeps_its_estimate() -> None:
    """R compare prints 0.70x for 33,33,50,73 against four 33; log-t keeps the estimate, not the bounds."""
    result = cost_ratio([33, 33, 33, 33], [33, 33, 50, 73])

    assert f"{result.estimate:.2f}" == "0.70"
    assert result.low < 0.52
    assert result.high > 1.0
