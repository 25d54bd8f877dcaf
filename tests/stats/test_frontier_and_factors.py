"""Pareto frontiers against their definition, factor levels against statsmodels, differences against scipy."""

from itertools import product
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle
from statsmodels.api import OLS

import tiltyard_stats as stats

points = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=8)


@given(points, st.tuples(*[st.booleans()] * 3))
def test_the_frontier_is_what_nothing_dominates(table: list[tuple[int, ...]], up: tuple[bool, ...]) -> None:
    """By the definition, pair by pair; there always is one."""
    signed = [tuple(v if more else -v for v, more in zip(row, up, strict=True)) for row in table]
    expected = tuple(
        place
        for place, row in enumerate(signed)
        if not any(other != row and all(x >= y for x, y in zip(other, row, strict=True)) for other in signed)
    )

    assert stats.pareto(table, up).frontier == expected
    assert expected


@given(points, st.randoms())
def test_order_of_variants_does_not_matter(table: list[tuple[int, ...]], random: object) -> None:
    """The same variants are on the frontier however they are listed, and axes may change places."""
    order = list(range(len(table)))
    random.shuffle(order)
    plain = stats.pareto(table, [True] * 3)
    shuffled = stats.pareto([table[place][::-1] for place in order], [True] * 3)

    assert sorted(order[place] for place in shuffled.frontier) == list(plain.frontier)


def test_a_variant_that_lacks_an_axis_is_left_out() -> None:
    """On the axes it has, it could push another one off the frontier, or stay on for lack of data."""
    result = stats.pareto([[0.9, None], [0.8, 5], [nan, 1]], [True, False])

    assert result.frontier == (1,)
    assert result.left_out == (0, 2)
    assert result.warnings == ("missing-axis",)
    assert stats.pareto([[None, 1.0]], [True, True]).frontier == ()


@pytest.mark.parametrize("value", [1.0, 0.1, 0.7, 1 / 3, 1e-9, 123456.789])
def test_equal_values_are_ties_in_every_resample(value: float) -> None:
    """Sums of the same values in another order or number differ in the last digits: that decides nothing."""
    for size in range(2, 31):
        cheap, dear = [[value, value, 8.0]] * size, [[value, value, 9.0]] * (size + size % 3)
        beaten = stats.pareto_probability([cheap, dear], [True, True, False])
        tied = stats.pareto_probability([cheap, [*cheap, cheap[0]]], [True, True, False])

        assert beaten.probability.tolist() == [1.0, 0.0], size
        assert beaten.frontier.frontier == (0,), size
        assert tied.probability.tolist() == [1.0, 1.0], size


def test_a_tie_by_rounding_beats_nobody_and_a_real_difference_does() -> None:
    """What is left of 0.1 + 0.2 - 0.3 is no better; a millionth of a millionth is."""
    assert stats.pareto([[0.1 + 0.2, 1.0], [0.3, 1.0]], [True, False]).frontier == (0, 1)
    assert stats.pareto([[0.3 + 1e-12, 1.0], [0.3, 1.0]], [True, False]).frontier == (0,)
    # Chains of ties stay on one rank: otherwise each could be beaten by another, and nobody be left.
    chain = [[1.0, 1.0 + place * 2e-14] for place in range(5)]
    assert stats.pareto(chain, [True, True]).frontier


def test_probability_on_the_frontier() -> None:
    """Of two equal variants on one axis each leads half of the time; a clear leader always does."""
    rng = np.random.default_rng(1)
    equal = [rng.permutation(rng.normal(0, 1, 12))[:, np.newaxis] for _ in range(2)]
    equal[1] = equal[1] - equal[1].mean() + equal[0].mean()
    result = stats.pareto_probability(equal, [True])

    assert result.probability == pytest.approx([0.5, 0.5], abs=0.05)
    assert stats.pareto_probability([equal[0], equal[1] + 9], [True]).probability.tolist() == [0, 1]
    assert stats.pareto_probability([equal[0], equal[1] + 9], [False]).probability.tolist() == [1, 0]


def test_probability_of_one_axis_is_that_of_the_largest_mean() -> None:
    """Against a plain bootstrap loop."""
    rng = np.random.default_rng(2)
    data = [rng.normal(shift, 1, size) for shift, size in ((0, 6), (0.4, 10), (0.5, 5))]
    wins = np.zeros(3)
    for _ in range(4_000):
        wins[np.argmax([rng.choice(values, len(values)).mean() for values in data])] += 1
    result = stats.pareto_probability([values[:, np.newaxis] for values in data], [True], resamples=8_000)

    np.testing.assert_allclose(result.probability, wins / 4_000, atol=0.04)


def test_no_probability_from_a_lack_of_data() -> None:
    """A lone trial takes part but has no probability; a variant that lacks an axis takes no part."""
    two = [[1.0, 5.0], [2.0, 6.0]]
    result = stats.pareto_probability([two, [[0.5, 9.0]], [[9.0, None], [9.0, 1.0]]], [True, False])

    assert result.probability[0] == 1
    assert isnan(result.probability[1])
    assert isnan(result.probability[2])
    assert result.n == (2, 1, 2)
    assert result.warnings == ("missing-axis", "n<2")


DESIGN = [
    {"model": model, "prompt": prompt, "tools": "on"} for model, prompt in product("ab", ["x", "y", "z"])
]


def test_levels_of_a_balanced_design() -> None:
    """Plain means are the adjusted ones; a factor of one level is none."""
    values = [0.1, 0.2, 0.6, 0.4, 0.5, 0.9]
    table = stats.factor_levels(DESIGN, values)
    rows = {(row.factor, row.level): row for row in table.levels}

    assert table.label == "balanced"
    assert table.warnings == ()
    assert list(rows) == [("model", "a"), ("model", "b"), ("prompt", "x"), ("prompt", "y"), ("prompt", "z")]
    assert rows["model", "a"].mean == pytest.approx(0.3)
    assert rows["prompt", "z"].mean == pytest.approx(0.75)
    assert all(row.adjusted == pytest.approx(row.mean) for row in table.levels)
    assert rows["prompt", "z"].variants == 2


@pytest.mark.parametrize("left_out", range(6))
def test_levels_of_an_unbalanced_design_against_statsmodels(left_out: int) -> None:
    """Main effects by statsmodels' least squares, averaged over the other factor with equal weights."""
    design = [row for place, row in enumerate(DESIGN) if place != left_out]
    values = np.random.default_rng(left_out).normal(size=5)
    dummies = [[1, r["model"] == "b", r["prompt"] == "y", r["prompt"] == "z"] for r in design]
    b0, b_model, b_y, b_z = OLS(values, np.array(dummies, dtype=float)).fit().params
    table = stats.factor_levels(design, values)
    adjusted = {row.level: row.adjusted for row in table.levels}

    assert table.label == "unadjusted"
    assert adjusted["b"] == pytest.approx(b0 + b_model + (b_y + b_z) / 3)
    assert adjusted["y"] == pytest.approx(b0 + b_y + b_model / 2)


def test_levels_that_change_only_together_are_confounded() -> None:
    """Nobody can tell the model from the prompt: the plain mean stays, with the label."""
    table = stats.factor_levels([{"m": "a", "p": "x"}, {"m": "b", "p": "y"}], [1.0, 2.0])

    assert all(isnan(row.adjusted) for row in table.levels)
    assert [row.mean for row in table.levels] == [1, 2, 1, 2]
    assert table.warnings == ("unadjusted", "confounded")


@pytest.mark.parametrize(("n", "m", "confidence"), [(3, 4, 0.95), (20, 5, 0.8)])
def test_difference_in_one_cell_is_welch(n: int, m: int, confidence: float) -> None:
    """Estimate and interval of scipy's ttest_ind."""
    rng = np.random.default_rng(n)
    arm, base = rng.lognormal(1, 0.5, n), rng.lognormal(1, 0.2, m)
    interval = oracle.ttest_ind(arm, base, equal_var=False).confidence_interval(confidence)
    result = stats.stratified_mean_diff([arm], [base], confidence=confidence)

    assert (result.low, result.high) == pytest.approx((interval.low, interval.high))
    assert result.method == "welch"


def test_difference_over_cells() -> None:
    """It is the difference of the stratified means, with the sum of their variances."""
    arm, base = [[10, 12, 11], [40, 44]], [[9, 8], [38, 36, 37]]
    left, right = stats.stratified_mean(arm), stats.stratified_mean(base)
    result = stats.stratified_mean_diff(arm, base)

    assert result.estimate == pytest.approx(left.estimate - right.estimate)
    assert result.standard_error**2 == pytest.approx(left.standard_error**2 + right.standard_error**2)


@pytest.mark.parametrize(
    ("arm", "codes"), [([[1.0], [2.0]], ("n<2",)), ([[1.0, 1.0], [2.0, 2.0]], ("zero-variance",))]
)
def test_no_bounds_from_a_lack_of_data(arm: list[list[float]], codes: tuple[str, ...]) -> None:
    """A difference of constants, or of lone runs, has no interval."""
    result = stats.stratified_mean_diff(arm, [[3.0, 3.0], [3.0, 3.0]])

    assert result.estimate == -1.5
    assert isnan(result.low)
    assert isnan(result.high)
    assert result.warnings == codes


def test_mean_with_the_normal_quantile_of_the_source() -> None:
    """scipy's norm.interval; too narrow, so t is the default."""
    data = [3.0, 5.0, 4.0, 9.0]
    low, high = oracle.norm.interval(0.95, np.mean(data), oracle.sem(data))
    result = stats.mean_interval(data, method="z")

    assert (result.low, result.high) == pytest.approx((low, high))
    assert stats.mean_interval(data).low < result.low
    assert isnan(stats.mean_interval([3.0], method="z").low)
    assert isnan(stats.mean_interval([3.0, 3.0], method="z").low)


def test_means_of_cells_of_any_size() -> None:
    """Each is what a single call gives."""
    cells = [[3.0, 5.0, 4.0], [8.0], [2.0, 2.5]]
    table = stats.cell_means(cells)

    for place, cell in enumerate(cells):
        one = stats.mean_interval(cell)
        assert table[place].estimate == pytest.approx(one.estimate)
        assert table[place].low == pytest.approx(one.low, nan_ok=True)
        assert table[place].warnings == one.warnings


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.pareto([], [True]), "points (shape (0,)) must have rows and axes"),
        (lambda: stats.pareto([[1, 2]], [True]), "maximize ([True]) must have one entry for each of 2 axes"),
        (lambda: stats.pareto([[np.inf]], [True]), "points holds inf; a value must be finite or missing"),
        (lambda: stats.pareto_probability([], [True]), "trials (none) must hold at least one variant"),
        (lambda: stats.pareto_probability([[]], [True]), "trials[0] (shape (0,)) must have rows and axes"),
        (lambda: stats.factor_levels([{"a": "x"}], [1, 2]), "design (1 variants) and values (2)"),
        (lambda: stats.factor_levels([{"a": "x"}, {}], [1, 2]), "design[1] ([]) must name the factors ['a']"),
        (lambda: stats.factor_levels([], []), "values (shape (0,)) must hold at least one observation"),
        (lambda: stats.mean_interval([1, 2], method="w"), "method ('w') must be one of 't', 'z'"),
        (lambda: stats.stratified_mean_diff([[1, 2]], []), "baseline (no cells) must hold at least one cell"),
        (lambda: stats.stratified_mean_diff([[1, 2]], [[1], [2]]), "arm (1 items) and baseline (2)"),
    ],
)
def test_errors_name_argument_value_and_rule(call: "object", message: str) -> None:
    """One sentence that a caller can act on."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)
