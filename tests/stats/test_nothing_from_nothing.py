"""Data that say nothing: no interval without a width, no pass without both bounds, only a ValueError."""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiltyard_stats as stats
from tiltyard_stats import _validate as check

Columns = Sequence[float]
few = st.sampled_from([0.0, 0.1, 0.3, 1.0])
columns = st.lists(few, min_size=1, max_size=4)
UNIT = (0.0, 1.0)


def cost_intervals(arm: Columns, base: Columns) -> list[Any]:
    """All intervals of costs, with a baseline that costs something."""
    left, right = [list(arm), [*arm, 2.0]], [[*base, 0.5], [0.5, *base]]
    looks, methods = stats.lan_demets([0.5, 1.0]), ("log-t", "fieller", "percentile", "expanded")
    return [
        *(stats.cost_ratio(arm, right[0], method=method, resamples=99) for method in methods),
        stats.cost_ratio(arm, right[0], method="source-report", resamples=99),
        stats.cost_ratio([1.0 + cost for cost in arm], [1.0 + cost for cost in base], method="geometric"),
        *(
            stats.cost_ratio_stratified(left, right, method=method, resamples=99)
            for method in ("log-t", "over-questions", "percentile", "source-report")
        ),
        stats.cost_ratio_totals(left, right),
        stats.repeated_interval(left, right, looks),
        stats.cost_evalue(left, right).ratio,
        stats.stratified_mean(left),
        stats.stratified_mean_diff(left, right),
        stats.bootstrap_mean(arm),
        stats.bootstrap_mean(arm, method="percentile"),
        stats.mean_interval(arm),
        stats.mean_interval(arm, method="z"),
        stats.runs_t(arm),
        stats.welch(arm, base),
    ]


def success_intervals(costs: Columns, wins: Sequence[int]) -> list[Any]:
    """All intervals of the cost of a success."""
    methods, other = ("log-t", "fieller", "percentile"), ([1.0, 2.0] * 3, [1] * 6)
    return [
        *(stats.cost_per_success(costs, wins, method=method, resamples=99) for method in methods),
        stats.cost_per_success_ratio(costs, wins, *other),
        stats.cost_per_success_ratio(costs, wins, costs, wins, paired=True),
        stats.cost_per_success_delta((costs, wins), (costs[::-1], wins), resamples=99),
        stats.paired_bootstrap_delta(costs, costs[::-1], resamples=99),
    ]


def rate_intervals(passes: Sequence[int], runs: int) -> list[Any]:
    """All intervals of pass rates; each case has as many runs."""
    total, made, mirror = sum(passes), runs * len(passes), [runs - count for count in passes]
    rates = [count / runs for count in passes]
    table = [[int(run < count) for count in passes] for run in range(runs)]
    groups = [place % 2 for place in range(len(passes))]
    methods = ("auto", "wilson") if runs == 1 else ("auto", "wilson", "wilson-neff", "source")
    several = len(passes) > 1
    return [
        *(one(total, made) for one in (stats.wilson, stats.clopper_pearson, stats.mid_p, stats.jeffreys)),
        stats.newcombe_diff(total, made, total, made),
        stats.beta_binomial_cs(total, made),
        *(stats.fixed_cases(passes, runs, method=method) for method in methods),
        *(stats.fixed_cases_diff(passes, runs, mirror, runs, method=method) for method in methods),
        stats.pass_at_k(passes, runs, 1),
        stats.pass_hat_k(passes, runs, runs, method="source"),
        stats.curated(table).interval,
        stats.curated_diff(table, table[::-1]).interval,
        stats.sampled(rates, bounds=UNIT),
        stats.sampled_diff(rates, rates[::-1]),
        *(stats.clustered(rates, groups, method=method) for method in ("cr1", "cr2") if several),
        *([stats.clustered_diff(rates, rates[::-1], groups)] if several else []),
        stats.paired_diff_t(passes.count(runs), passes.count(0), 1),
        stats.reliability(table),
        stats.betting_cs(rates),
        *([stats.consistency(passes, runs)] if runs > 1 else []),
        *judges(passes, runs),
    ]


def judges(passes: Sequence[int], runs: int) -> list[Any]:
    """All intervals of agreement, on verdicts that may be all alike."""
    wins, losses = passes.count(runs), len(passes) - passes.count(runs)
    rates = stats.judge_rates(wins, 0, 0, losses)
    found = [rates.accuracy, rates.strictness, rates.leniency, rates.kappa]
    found.append(stats.rogan_gladen(wins, len(passes), sensitivity=(9, 10), specificity=(8, 10)))
    if runs > 1:
        votes = [[1] * count + [0] * (runs - count) for count in passes]
        steady = stats.judge_consistency(votes)
        counts = [[count, runs - count] for count in passes]
        found += [stats.fleiss_kappa(counts), stats.krippendorff_alpha(counts)]
        found += [steady.flip_rate, steady.disagreement]
    return found


def fault(result: Any) -> str:
    """What breaks the rule; empty when nothing does."""
    unknown = [math.isnan(result.low), math.isnan(result.high)]
    if not (result.method and result.claim and result.n >= 0 and 0 < result.confidence < 1):
        return "does not say what it is"
    if all(unknown):
        return "" if result.warnings else "is unknown without a reason"
    return "" if not any(unknown) and result.high > result.low else "has no width"


@pytest.mark.slow
@settings(max_examples=30)
@given(columns, columns)
def test_costs_without_spread_give_no_width(arm: list[float], base: list[float]) -> None:
    """Equal costs, lone runs and arms that cost nothing: a width or NaN with a reason, never a point."""
    assert [
        (result.method, fault(result), result) for result in cost_intervals(arm, base) if fault(result)
    ] == []


@settings(max_examples=30)
@given(st.lists(st.tuples(few, st.integers(0, 1)), min_size=1, max_size=8))
def test_successes_without_spread_give_no_width(trials: list[tuple[float, int]]) -> None:
    """Trials that are alike, without success, or all at no cost."""
    results = success_intervals([cost for cost, _ in trials], [won for _, won in trials])

    assert [(result.method, fault(result), result) for result in results if fault(result)] == []


@settings(max_examples=30)
@given(
    st.integers(1, 3).flatmap(
        lambda runs: st.tuples(st.lists(st.integers(0, runs), min_size=1, max_size=5), st.just(runs))
    )
)
def test_rates_without_a_flaky_case_give_no_width(cases: tuple[list[int], int]) -> None:
    """All pass, none pass, one case, one run: a width or NaN with a reason."""
    assert [
        (result.method, fault(result), result) for result in rate_intervals(*cases) if fault(result)
    ] == []


@pytest.mark.parametrize(
    ("low", "high"), [(0.5, math.nan), (math.nan, 0.5), (-2.0, math.nan), (math.nan, math.nan)]
)
def test_half_an_interval_passes_no_gate(low: float, high: float) -> None:
    """With one bound unknown the other proves nothing, on whichever side of a limit it lies."""
    odd = stats.Interval(0.0, low, high, 0.99, "odd", 9, "these cases")
    full = stats.Interval(1.0, 0.9, 1.1, 0.99, "log-t", 9, "these cases")
    outcomes = [
        stats.no_significant_drop(odd),
        stats.no_regression(odd, 0.1),
        stats.min_rule_rate(odd, 0.2),
        stats.max_cost_ratio(odd, 1.1),
        stats.max_slice_drop({"odd": odd}, 0.1),
    ]

    assert {outcome.verdict for outcome in outcomes} == {"INCONCLUSIVE"}
    assert not odd.excludes(0.0)
    assert stats.parity(odd, -9, 9).verdict == "unproven"
    assert stats.token_verdict(odd, n_arm=9, n_baseline=9).verdict == "no verdict"
    assert stats.plan_state([odd], runs=9, needed=20).state == "continue"
    for quality, cost in ((odd, full), (full, odd)):
        candidate = stats.Candidate("new", quality, cost)
        assert stats.switch([candidate], margin=0.1, max_ratio=1.2).verdict == "NOT YET"


def test_a_p_value_that_is_unknown_passes_no_gate() -> None:
    """Also among rules of which the others are sound."""
    sound = stats.fisher_drop(9, 9, 9, 9)
    unknown = stats.TestResult(0.0, math.nan, "odd", 9, "these runs", "less")

    assert stats.no_rule_regression({"a": sound, "b": unknown}).verdict == "INCONCLUSIVE"


BAD_NUMBERS: tuple[Any, ...] = (None, "0.5", math.nan, math.inf, [0.5])
BAD_ARRAYS: tuple[Any, ...] = (None, "x", [None], [math.nan], 1.0, [])


@pytest.mark.parametrize(
    "rule",
    [
        check.number,
        check.proportion,
        check.share,
        check.finite,
        lambda name, value: check.at_least(name, value, 0),
        lambda name, value: check.above(name, value, 0),
        lambda name, value: check.whole(name, value, 0),
        lambda name, value: check.choice(name, value, ("a", "b")),
    ],
)
def test_what_is_no_number_is_a_value_error(rule: Callable[[str, Any], object]) -> None:
    """None and text from a file are told by name, whatever the argument."""
    for value in BAD_NUMBERS[: 3 if rule is not check.number else 2]:
        with pytest.raises(ValueError, match="margin"):
            rule("margin", value)


@pytest.mark.parametrize("rule", [check.sample, check.cells, check.outcomes])
def test_what_is_no_list_is_a_value_error(rule: Callable[[str, Any], object]) -> None:
    """Missing values, text, a lone number and nothing at all."""
    for value in BAD_ARRAYS:
        with pytest.raises(ValueError, match="costs"):
            rule("costs", value)


def test_values_outside_the_bounds_are_refused() -> None:
    """A rate of 1.2, clipped to [0, 1], would have an interval from 1 to 1."""
    for call in (
        lambda: stats.runs_t([1.2, 1.3]),
        lambda: stats.mean_interval([1.2, 1.3], bounds=UNIT),
        lambda: stats.mean_intervals([[1.2, 1.3]], bounds=UNIT),
        lambda: stats.stratified_mean([[1.2, 1.3]], bounds=UNIT),
        lambda: stats.clustered([1.2, 1.3], [0, 1], bounds=UNIT),
        lambda: stats.welch([3.0, 4.0], [1.0, 1.2], bounds=UNIT),
        lambda: stats.runs_t([0.4, 0.5], bounds=(1.0, 0.0)),
    ):
        with pytest.raises(ValueError, match="bounds"):
            call()


def test_a_bound_beyond_all_numbers_is_infinite() -> None:
    """Two runs at a high confidence overflow; that is an open end, not an error."""
    ratio = stats.cost_ratio([1.0, 9.0], [2.0, 30.0], confidence=0.999999)
    each = stats.cost_per_success([1.0, 90.0], [5, 1], confidence=0.999999)

    assert (ratio.low, ratio.high) == (0.0, math.inf)
    assert each.high == math.inf
    assert not ratio.excludes(1.0)
    assert not ratio.known


@pytest.mark.parametrize(("old", "new"), list(product([0, 3], repeat=2)))
def test_boschloo_of_too_many_tables_says_so(old: int, new: int) -> None:
    """It lists all tables; for a million runs it names the test that needs no list."""
    with pytest.raises(ValueError, match="too many to list"):
        stats.boschloo_drop(old, 1_000_000, new, 1_000_000)


@pytest.mark.parametrize("method", ["percentile", "expanded"])
def test_identical_pairs_prove_no_equal_cost(method: Any) -> None:
    """Each resample of a delta is then 0; so is the width, which is no proof."""
    side = [0.1, 0.1, 0.0, 0.0, 0.1, 0.1], [0, 1, 1, 1, 1, 1]
    delta = stats.cost_per_success_delta(side, side, method=method)

    assert (delta.estimate, delta.known, delta.warnings) == (0.0, False, ("zero-width",))


def test_a_resample_without_cost_opens_the_interval() -> None:
    """Where runs cost nothing, some resamples divide by 0 or take its log: the end is open, never NaN."""
    free, paid = [[0.0, 0.0, 0.5]], [[0.1, 0.2]]
    above = stats.cost_ratio_stratified(paid, free, method="percentile")
    below = stats.cost_ratio_stratified(free, paid, method="percentile")

    assert above.high == math.inf
    assert below.low == 0.0
    assert above.low == pytest.approx(1 / below.high)


def test_a_coarse_bootstrap_gives_no_point() -> None:
    """At a low confidence both cuts of few values fall on one of them."""
    interval = stats.bootstrap_mean([5.0] * 19 + [9.0], method="percentile", confidence=0.05)

    assert interval.warnings == ("zero-width",)
    assert math.isnan(interval.low)


def test_components_say_what_they_are() -> None:
    """As every other result: method, claim and how many observations."""
    parts = stats.variance_components(np.eye(3))

    assert (parts.method, parts.claim, parts.n) == ("one-way-anova", "cases like these", 9)
