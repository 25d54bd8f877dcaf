"""Laws that hold for any data."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiltyard_stats as stats

costs = st.lists(st.floats(1.0, 1e6), min_size=1, max_size=8)
cells = st.lists(st.tuples(costs, costs), min_size=1, max_size=5)
rates = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(rates)
def test_wilson_holds_its_estimate_and_stays_inside(rate: tuple[int, int]) -> None:
    """Bounds lie in [0, 1], around the estimate, and always have a width."""
    result = stats.wilson(*rate)

    assert 0 <= result.low <= result.estimate <= result.high <= 1
    assert result.high - result.low > 0.01


@given(rates)
def test_wilson_mirrors_failures(rate: tuple[int, int]) -> None:
    """Counting failures for passes mirrors the interval."""
    left, right = stats.wilson(*rate), stats.wilson(rate[1] - rate[0], rate[1])

    assert (left.low, left.high) == pytest.approx((1 - right.high, 1 - right.low))


@given(cells)
def test_swapping_arms_inverts_the_ratio(pairs: list[tuple[list[float], list[float]]]) -> None:
    """A/B and B/A agree, which a mean of ratios would not."""
    arm, base = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    forth, back = stats.cost_ratio_stratified(arm, base), stats.cost_ratio_stratified(base, arm)

    assert forth.estimate == pytest.approx(1 / back.estimate)
    assert forth.warnings == back.warnings
    if forth.known:
        assert np.log([forth.low, forth.high]) == pytest.approx(
            np.log([1 / back.high, 1 / back.low]), abs=1e-6
        )


@given(cells, st.randoms())
def test_order_does_not_matter(pairs: list[tuple[list[float], list[float]]], random: Random) -> None:
    """Relabelled questions and shuffled runs give the same numbers."""
    shuffled = [(sorted(arm), sorted(base, reverse=True)) for arm, base in pairs]
    random.shuffle(shuffled)
    before = stats.cost_ratio_stratified([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    after = stats.cost_ratio_stratified([pair[0] for pair in shuffled], [pair[1] for pair in shuffled])

    assert before.estimate == pytest.approx(after.estimate)
    assert before.standard_error == pytest.approx(after.standard_error, rel=1e-6, abs=1e-9, nan_ok=True)


@given(cells, st.floats(0.01, 100))
def test_the_unit_does_not_matter(pairs: list[tuple[list[float], list[float]]], unit: float) -> None:
    """Tokens or thousands of tokens: the ratio is the same."""
    arm, base = [np.array(pair[0]) for pair in pairs], [np.array(pair[1]) for pair in pairs]
    plain = stats.cost_ratio_stratified(arm, base)
    scaled = stats.cost_ratio_stratified([cell * unit for cell in arm], [cell * unit for cell in base])

    assert plain.estimate == pytest.approx(scaled.estimate)


@given(cells)
def test_an_interval_never_has_zero_width(pairs: list[tuple[list[float], list[float]]]) -> None:
    """Bounds are NaN with a code, or apart."""
    for result in (
        stats.cost_ratio_stratified([pair[0] for pair in pairs], [pair[1] for pair in pairs]),
        stats.stratified_mean([pair[0] for pair in pairs]),
    ):
        assert result.high > result.low if result.known else result.warnings


@given(cells)
def test_the_test_agrees_with_the_interval(pairs: list[tuple[list[float], list[float]]]) -> None:
    """p < .05 exactly when the 95% interval excludes 1."""
    sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ratio, test = stats.cost_ratio_stratified(*sides), stats.cost_ratio_test(*sides)

    assert ratio.known == (test.pvalue == test.pvalue)
    if ratio.known and abs(test.pvalue - 0.05) > 1e-9:
        assert ratio.excludes(1.0) == (test.pvalue < 0.05)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_order_and_never_shrinks(raw: list[float]) -> None:
    """Adjusted values are at least the raw ones, at most 1, and as ordered."""
    adjusted = stats.holm(raw)

    assert (adjusted >= raw).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0).all()


@given(st.floats(0.05, 2), st.floats(0.05, 0.5))
def test_more_spread_needs_more_runs(spread: float, effect: float) -> None:
    """Sample sizes grow with the spread and shrink with the effect."""
    base = stats.runs_per_arm(spread, effect).exact

    assert stats.runs_per_arm(spread * 1.1, effect).exact > base
    assert stats.runs_per_arm(spread, effect * 1.1).exact < base
