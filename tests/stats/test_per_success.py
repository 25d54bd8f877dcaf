"""Cost and time per success, and paired differences: against scipy, and the rule that blocks a claim."""

from itertools import product
from math import exp, inf, isnan, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

import tiltyard_stats as stats

COSTS = [1.2, 0.8, 2.1, 0.9, 1.5, 1.1, 0.7, 1.9, 1.0, 1.3]
WON = [1, 1, 0, 1, 1, 1, 1, 0, 1, 1]
trials = st.lists(st.tuples(st.floats(0.5, 100), st.integers(0, 1)), min_size=5, max_size=9)


def residuals(costs: list[float], won: list[int]) -> np.ndarray:
    """What each trial spends beyond the rate, in units of the mean."""
    spent, wins = np.array(costs), np.array(won)
    return (spent - spent.sum() / wins.sum() * wins) / spent.mean()


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_log_t(confidence: float) -> None:
    """Rate times exp(±t sem), with scipy's t interval of the residuals."""
    low, high = oracle.t.interval(confidence, 9, 0, oracle.sem(residuals(COSTS, WON)))
    result = stats.cost_per_success(COSTS, WON, confidence=confidence)

    assert result.estimate == pytest.approx(12.5 / 8)
    assert (result.low, result.high) == pytest.approx((12.5 / 8 * exp(low), 12.5 / 8 * exp(high)))
    assert result.claim == "these questions"


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_fieller_bounds_are_where_the_t_test_is_critical(confidence: float) -> None:
    """At a bound r, scipy's t test of C - r Z has exactly the p value 1 - confidence."""
    result = stats.cost_per_success(COSTS, WON, confidence=confidence, method="fieller")

    for bound in (result.low, result.high):
        p = oracle.ttest_1samp(np.array(COSTS) - bound * np.array(WON), 0).pvalue
        assert p == pytest.approx(1 - confidence)


def test_fieller_without_an_upper_bound() -> None:
    """Five successes in fifty may be none: no upper bound, and nothing that a rule could pass on."""
    won = [1] * 5 + [0] * 75
    result = stats.cost_per_success(np.linspace(1, 2, 80), won, method="fieller", confidence=0.99)

    assert result.high == inf
    assert result.low > 0
    assert result.warnings == ("unbounded",)
    assert not result.known


def test_percentile_against_full_enumeration() -> None:
    """All 6^6 draws of trials, with numpy's percentile; a draw without a success is infinite."""
    costs, won = np.array(COSTS[1:7]), np.array([1, 1, 1, 1, 1, 0])
    draws = np.array(list(product(range(6), repeat=6)))
    wins = won[draws].sum(axis=1)
    rates = np.where(wins > 0, costs[draws].sum(axis=1) / np.maximum(wins, 1), inf)
    low, high = np.percentile(rates, [2.5, 97.5])
    result = stats.cost_per_success(costs, won, method="percentile")

    assert (result.low, result.high) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("won", "estimate", "code"),
    [([0] * 10, inf, "no-successes"), ([1] * 4 + [0] * 6, 12.5 / 4, "few-successes")],
)
@pytest.mark.parametrize("method", ["log-t", "fieller", "percentile"])
def test_few_successes_block_the_claim(method: str, won: list[int], estimate: float, code: str) -> None:
    """Under five the estimate is printed, and nothing follows from it."""
    result = stats.cost_per_success(COSTS, won, method=method)

    assert result.estimate == pytest.approx(estimate)
    assert result.claim == "blocked"
    assert result.warnings == (code,)
    assert not result.excludes(0.01)
    assert isnan(result.low)


@pytest.mark.parametrize("won", [[0] * 10, [1] * 4 + [0] * 6])
@pytest.mark.parametrize("blocked_side", [0, 1])
def test_few_successes_on_either_side_block_a_comparison(won: list[int], blocked_side: int) -> None:
    """Of ratios and of differences, whichever arm it is."""
    sides = [(COSTS, WON), (COSTS, WON)]
    sides[blocked_side] = (COSTS, won)
    for result in (
        stats.cost_per_success_ratio(*sides[0], *sides[1]),
        stats.cost_per_success_ratio(*sides[0], *sides[1], paired=True),
        stats.cost_per_success_delta(sides[0], sides[1]),
    ):
        assert result.claim == "blocked"
        assert not result.known
        assert not result.excludes(1.0)


def test_paired_ratio() -> None:
    """The standard error of the difference of the two sides' residuals."""
    other, won = [1.0, 1.9, 0.4, 1.3, 1.1, 2.2, 0.9, 1.4, 1.6, 0.8], [1, 1, 1, 0, 1, 1, 1, 1, 1, 1]
    error = oracle.sem(residuals(COSTS, WON) - residuals(other, won))
    center = log((sum(COSTS) / 8) / (sum(other) / 9))
    low, high = oracle.t.interval(0.95, 9, center, error)
    result = stats.cost_per_success_ratio(COSTS, WON, other, won, paired=True)

    assert (result.low, result.high) == pytest.approx((exp(low), exp(high)))
    assert (result.method, result.n) == ("log-t-paired", 10)


def test_unpaired_ratio_is_welch_of_the_residuals() -> None:
    """Standard error and degrees of freedom are those of scipy's Welch test."""
    other, won = [1.0, 1.9, 0.4, 1.3, 1.1, 2.2], [1, 1, 1, 0, 1, 1]
    left, right = residuals(COSTS, WON), residuals(other, won)
    welch = oracle.ttest_ind(left, right, equal_var=False)
    result = stats.cost_per_success_ratio(COSTS, WON, other, won)

    assert result.df == pytest.approx(welch.df)
    assert result.standard_error == pytest.approx(sqrt(oracle.sem(left) ** 2 + oracle.sem(right) ** 2))


def test_when_all_succeed_it_is_the_cost_ratio() -> None:
    """With a success in each trial cost per success is the mean cost."""
    ones = [1] * 6
    arm, base = [62, 61, 57, 67, 52, 54], [120, 118, 125, 70, 65, 93]
    plain, each = stats.cost_ratio(arm, base), stats.cost_per_success_ratio(arm, ones, base, ones)

    assert (plain.estimate, plain.low, plain.high) == pytest.approx((each.estimate, each.low, each.high))


def test_paired_delta_against_scipy() -> None:
    """The bootstrap of the differences, which pairing makes sharper than two samples."""
    rng = np.random.default_rng(1)
    base = rng.lognormal(3, 0.8, 30)
    arm = base * 0.8 + rng.normal(0, 1, 30)
    reference = oracle.bootstrap(
        (arm - base,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(2)
    ).confidence_interval
    result = stats.paired_bootstrap_delta(arm, base, method="percentile")

    assert (result.low, result.high) == pytest.approx((reference.low, reference.high), rel=0.03)
    assert stats.paired_bootstrap_delta(arm, base).low < result.low


def test_delta_per_success_against_scipy() -> None:
    """Pairs of trials are drawn together."""
    rng = np.random.default_rng(3)
    columns = [
        rng.lognormal(0, 0.4, 40),
        rng.random(40) < 0.8,
        rng.lognormal(0.3, 0.4, 40),
        rng.random(40) < 0.7,
    ]
    reference = oracle.bootstrap(
        columns,
        lambda a, x, b, y, axis: a.sum(axis) / x.sum(axis) - b.sum(axis) / y.sum(axis),
        paired=True,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(4),
    ).confidence_interval
    result = stats.cost_per_success_delta(tuple(columns[:2]), tuple(columns[2:]), method="percentile")

    assert (result.low, result.high) == pytest.approx((reference.low, reference.high), abs=0.03)


@given(trials, st.floats(0.01, 100), st.randoms())
def test_unit_and_order_do_not_matter(rows: list[tuple[float, int]], unit: float, random: object) -> None:
    """Seconds or minutes, and trials in any order, give the same; bounds hold the estimate."""
    shuffled = list(rows)
    random.shuffle(shuffled)
    for method in ("log-t", "fieller"):
        plain = stats.cost_per_success(*zip(*rows, strict=True), method=method)
        other = stats.cost_per_success(
            [cost * unit for cost, _ in shuffled], [won for _, won in shuffled], method=method
        )

        assert plain.claim == other.claim
        if plain.estimate < inf:
            assert other.estimate == pytest.approx(plain.estimate * unit)
        if plain.known and other.known:
            assert plain.low <= plain.estimate <= plain.high
            assert other.low == pytest.approx(plain.low * unit, rel=1e-6)


@given(trials)
def test_an_arm_beside_itself_does_not_differ(rows: list[tuple[float, int]]) -> None:
    """Paired with itself an arm has no spread of differences, hence no bounds; unpaired they hold 1."""
    costs, won = zip(*rows, strict=True)
    paired = stats.cost_per_success_ratio(costs, won, costs, won, paired=True)
    apart = stats.cost_per_success_ratio(costs, won, costs, won)

    assert not paired.known
    assert not apart.excludes(1.0)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: stats.cost_per_success([2.0], [6]), "n<2"),
        (lambda: stats.cost_per_success([2.0] * 6, [1] * 6), "zero-variance"),
        (lambda: stats.cost_per_success([0.0] * 6, [1] * 6), "zero-mean"),
        (lambda: stats.cost_per_success_ratio([0.0] * 6, [1] * 6, COSTS, WON), "zero-mean"),
        (lambda: stats.cost_per_success_ratio([2.0], [6], COSTS, WON), "n<2"),
        (lambda: stats.cost_per_success_delta(([2.0], [6]), ([3.0], [6])), "n<2"),
        (lambda: stats.cost_per_success_delta(([2.0] * 6, [1] * 6), ([3.0] * 6, [1] * 6)), "zero-variance"),
        (lambda: stats.paired_bootstrap_delta([3, 4], [1, 2]), "zero-variance"),
    ],
)
def test_no_bounds_from_a_lack_of_data(call: "object", code: str) -> None:
    """NaN bounds with the reason."""
    result = call()

    assert isnan(result.low)
    assert isnan(result.high)
    assert result.warnings == (code,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.cost_per_success([], []), "costs (shape (0,)) must hold at least one observation"),
        (lambda: stats.cost_per_success([1, nan], [1, 1]), "costs holds nan; leave missing values out"),
        (lambda: stats.cost_per_success([1, 2], [1]), "costs (2 items) and successes (1) must be as long"),
        (lambda: stats.cost_per_success([1, -2], [1, 1]), "costs holds -2.0; a cost must be at least 0"),
        (lambda: stats.cost_per_success([1, 2], [1, 0.5]), "must be a whole number of at least 0"),
        (lambda: stats.cost_per_success([1], [1], method="delta"), "method ('delta') must be one of 'log-t'"),
        (
            lambda: stats.cost_per_success_ratio([1, 2], [1, 1], [1], [1], paired=True),
            "arm_costs (2 items) and baseline_costs (1) must be as long",
        ),
        (lambda: stats.paired_bootstrap_delta([1, 2], [1]), "arm (2 items) and baseline (1) must be as long"),
    ],
)
def test_errors_name_argument_value_and_rule(call: "object", message: str) -> None:
    """One sentence that a caller can act on."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)
