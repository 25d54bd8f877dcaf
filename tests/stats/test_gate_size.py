"""Gate sizing: what a gate says about drops that are put in on purpose."""

import numpy as np
import pytest

from tiltyard_stats import GateRule, fixed_cases_diff, gate_size, no_significant_drop, visible_drop

# 114 cases on 4 runs: most always pass or always fail, nine are flaky, as in the source's example.
BASELINE = [4] * 63 + [0] * 42 + [2] * 9


def test_rows_add_up_and_repeat() -> None:
    """Shares add up to 1, larger drops fail more often, and the default seed repeats."""
    first, second = (
        gate_size(BASELINE, 4, runs=2, rule=rule, simulations=300)
        for rule in (GateRule(), GateRule("no_regression", margin=0.05))
    )
    for size in (first, second):
        assert all(row.passed + row.failed + row.inconclusive == pytest.approx(1) for row in size.rows)
        assert np.all(np.diff([row.failed for row in size.rows]) >= -0.02)
    assert all(row.inconclusive == 0 for row in first.rows)
    assert first == gate_size(BASELINE, 4, runs=2, simulations=300)


def test_no_variance_passes_nothing() -> None:
    """One case on two runs: most draws have no variance, and such a gate does not prove anything."""
    size = gate_size(
        [2], 2, runs=2, rule=GateRule("no_regression", margin=0.5), drops=(0.0,), simulations=400
    )

    assert size.rows[0].inconclusive > 0.5
    assert size.meets_aim is None


def test_a_smoke_tier_says_what_it_cannot_see() -> None:
    """More cases or runs see smaller drops; a baseline of more runs helps too."""
    assert visible_drop(20, 1) > visible_drop(20, 1, baseline_runs=4) > visible_drop(20, 4)
    assert visible_drop(1, 1) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gate_size([], 4, runs=2), "passes (shape (0,)) must hold one count per case"),
        (lambda: gate_size([5], 4, runs=2), "passes ([5]) must not exceed baseline_runs (4)"),
        (lambda: gate_size([3], 4, runs=0), "runs (0) must be a whole number of at least 1"),
        (lambda: gate_size([3], 4, runs=2, drops=(1.5,)), "drops holds 1.5; a drop lies in [0, 1)"),
        (
            lambda: gate_size([1], 1, runs=2, rule=GateRule("no_regression")),
            "the least of baseline_runs (1) must be a whole number of at least 2",
        ),
        (lambda: visible_drop(0, 1), "cases (0) must be a whole number of at least 1"),
    ],
)
def test_sizing_errors(call: "object", message: str) -> None:
    """Each names the argument, its value and the rule."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(("baseline_runs", "runs", "found"), [(4, 2, 0.90), (2, 4, 0.84), (4, 4, 0.95)])
def test_the_aim_at_114_cases(baseline_runs: int, runs: int, found: float) -> None:
    """S aims at 10% at most without a change and 90% at least at -8 points; 4.0% and 95.6% by our check."""
    passes = np.array(BASELINE) * baseline_runs // 4
    size = gate_size(passes, baseline_runs, runs=runs, drops=(0.0, 0.08))

    assert 0.03 <= size.rows[0].failed <= 0.06
    assert size.rows[1].failed >= found
    assert size.meets_aim == (size.rows[1].failed >= 0.9)


@pytest.mark.slow
def test_the_small_sample_correction_of_s() -> None:
    """S: 6.8% becomes 5.8% at a nominal 5% with N/(N-1); at 114 cases, 2 against 4 runs, 7.0 becomes 5.4."""
    passes = np.random.default_rng(31).binomial(4, np.random.default_rng(32).beta(1, 1, 114))
    with_, without = (
        gate_size(passes, 4, runs=2, drops=(0.0,), rule=GateRule(correction=on), simulations=12_000).rows[0]
        for on in (True, False)
    )

    assert with_.failed == pytest.approx(0.054, abs=0.008)
    assert without.failed == pytest.approx(0.070, abs=0.010)


@pytest.mark.slow
def test_the_real_gate_rarely_fails_no_change() -> None:
    """The gate on the package's own interval of a difference: at most 6% false alarms."""
    rng = np.random.default_rng(33)
    rates = rng.beta(1, 1, 60)
    failed = 0
    for _ in range(600):
        a, b = rng.binomial(2, rates), rng.binomial(4, rates)
        failed += no_significant_drop(fixed_cases_diff(a, 2, b, 4, confidence=0.9)).verdict == "FAIL"

    assert failed / 600 <= 0.06
