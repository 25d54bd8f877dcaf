"""Laws of pass rates that hold for any data."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tiltyard_stats as stats

pytestmark = pytest.mark.slow  # hundreds of examples each

rates = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
case = st.integers(1, 5).flatmap(lambda r: st.tuples(st.integers(0, r), st.just(r)))
arms = st.lists(st.tuples(case, case), min_size=1, max_size=12)
tables = st.integers(1, 10).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=2, max_size=4)
)
Kind = Callable[..., stats.Interval]
KINDS: tuple[Kind, ...] = (stats.wilson, stats.clopper_pearson, stats.mid_p, stats.jeffreys)
Arms = list[tuple[tuple[int, int], tuple[int, int]]]


def _columns(pairs: Arms) -> tuple[list[int], list[int], list[int], list[int]]:
    ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return [c for c, _ in ours], [r for _, r in ours], [c for c, _ in theirs], [r for _, r in theirs]


@given(rates, st.sampled_from(KINDS))
def test_an_interval_of_a_rate(rate: tuple[int, int], kind: Kind) -> None:
    """It lies in [0, 1] around the estimate, has a width, and mirrors when failures are counted."""
    result, mirrored = kind(*rate), kind(rate[1] - rate[0], rate[1])

    assert 0 <= result.low <= result.estimate <= result.high <= 1
    assert result.high - result.low > 0.01
    assert (result.low, result.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low))


@settings(max_examples=50)
@given(rates, st.sampled_from(KINDS))
def test_an_interval_moves_up_with_the_passes(rate: tuple[int, int], kind: Kind) -> None:
    """One pass more never lowers a bound; more confidence never narrows."""
    assume(rate[0] < rate[1])
    less, more = kind(*rate), kind(rate[0] + 1, rate[1])
    wide = kind(*rate, confidence=0.99)

    assert less.low <= more.low
    assert less.high <= more.high
    assert wide.low <= less.low
    assert wide.high >= less.high


@given(rates)
def test_the_kinds_are_ordered(rate: tuple[int, int]) -> None:
    """Mid-p lies inside Clopper-Pearson, which never covers too little."""
    exact, mid = stats.clopper_pearson(*rate), stats.mid_p(*rate)

    assert exact.low <= mid.low + 1e-12
    assert mid.high <= exact.high + 1e-12


@given(rates, rates)
def test_a_difference_of_rates(a: tuple[int, int], b: tuple[int, int]) -> None:
    """It lies in [-1, 1], around the estimate, and changes its sign when the sides are swapped."""
    forth, back = stats.newcombe_diff(*a, *b), stats.newcombe_diff(*b, *a)

    assert -1 - 1e-12 <= forth.low <= forth.estimate <= forth.high <= 1 + 1e-12
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))
    assert stats.two_proportion_z(*a, *b).statistic == pytest.approx(
        -stats.two_proportion_z(*b, *a).statistic
    )


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_a_deeper_drop_is_never_less_clear(old_n: int, new_n: int, data: st.DataObject) -> None:
    """For Fisher, mid-p and Boschloo the p value falls with each pass lost; Boschloo is the sharpest."""
    old = data.draw(st.integers(0, old_n))
    new = data.draw(st.integers(1, new_n))
    for test in (
        stats.fisher_drop,
        stats.boschloo_drop,
        lambda *table: stats.fisher_drop(*table, method="fisher-mid-p"),
    ):
        assert test(old, old_n, new - 1, new_n).pvalue <= test(old, old_n, new, new_n).pvalue + 1e-9


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_does_not_know_which_arm_is_which(a: int, b: int) -> None:
    """Swapping arms keeps p and turns the statistic; mid-p never exceeds the exact p."""
    assert stats.mcnemar(a, b).pvalue == stats.mcnemar(b, a).pvalue
    assert stats.mcnemar(a, b).statistic == -stats.mcnemar(b, a).statistic
    assert stats.mcnemar(a, b, method="mcnemar-mid-p").pvalue <= stats.mcnemar(a, b).pvalue


@settings(max_examples=50)
@given(arms, st.randoms())
def test_cases_have_no_order(pairs: Arms, random: Random) -> None:
    """Relabelled cases give the same rate, difference and p value."""
    shuffled = pairs.copy()
    random.shuffle(shuffled)
    before, after = _columns(pairs), _columns(shuffled)
    rate, again = stats.fixed_cases(*before[:2]), stats.fixed_cases(*after[:2])
    test, retest = stats.stratified_test(*before), stats.stratified_test(*after)
    diff, other = stats.fixed_cases_diff(*before), stats.fixed_cases_diff(*after)

    assert (rate.low, rate.high) == pytest.approx((again.low, again.high))
    assert (diff.low, diff.high) == pytest.approx((other.low, other.high), nan_ok=True)
    assert (test.p_drop, test.p_rise) == pytest.approx((retest.p_drop, retest.p_rise))


@settings(max_examples=50)
@given(arms)
def test_swapping_arms_mirrors_everything(pairs: Arms) -> None:
    """A drop of the one is a rise of the other."""
    a, r_a, b, r_b = _columns(pairs)
    forth, back = stats.stratified_test(a, r_a, b, r_b), stats.stratified_test(b, r_b, a, r_a)
    diff, mirror = stats.fixed_cases_diff(a, r_a, b, r_b), stats.fixed_cases_diff(b, r_b, a, r_a)

    assert (forth.p_drop, forth.p_rise) == pytest.approx((back.p_rise, back.p_drop))
    assert (forth.pvalue, forth.cmh_pvalue) == pytest.approx((back.pvalue, back.cmh_pvalue))
    assert (diff.low, diff.high) == pytest.approx((-mirror.high, -mirror.low), nan_ok=True)


@settings(max_examples=50)
@given(arms)
def test_p_values_and_bounds_stay_in_range(pairs: Arms) -> None:
    """P values lie in [0, 1], mid-p below exact; rates in [0, 1], differences in [-1, 1]."""
    columns = _columns(pairs)
    test = stats.stratified_test(*columns)
    rate, diff = stats.fixed_cases(*columns[:2]), stats.fixed_cases_diff(*columns)

    assert 0 < test.midp_drop <= test.p_drop <= 1
    assert 0 < test.midp_rise <= test.p_rise <= 1
    assert 0 <= rate.low <= rate.estimate + 1e-12
    assert rate.estimate - 1e-12 <= rate.high <= 1
    assert rate.low < rate.high
    assert -1 - 1e-9 <= diff.low < diff.high <= 1 + 1e-9


@settings(max_examples=50)
@given(arms, st.data())
def test_a_lost_pass_never_makes_a_drop_less_clear(pairs: Arms, data: st.DataObject) -> None:
    """With equal runs in all cases, p of a drop falls with each pass that the candidate loses."""
    a, _, b, _ = _columns(pairs)
    assume(sum(a) > 0)
    lost = data.draw(st.sampled_from([index for index, passes in enumerate(a) if passes]))
    worse = [passes - (index == lost) for index, passes in enumerate(a)]

    assert stats.stratified_test(worse, 5, b, 5).p_drop <= stats.stratified_test(a, 5, b, 5).p_drop + 1e-12


@given(arms)
def test_cases_that_agree_say_nothing_to_the_test(pairs: Arms) -> None:
    """A case that both arms always or never pass leaves the exact p value of equal runs as it is."""
    a, _, b, _ = _columns(pairs)
    more = stats.stratified_test([*a, 5, 0], 5, [*b, 5, 0], 5)

    assert more.p_drop == pytest.approx(stats.stratified_test(a, 5, b, 5).p_drop)


@given(tables, st.randoms())
def test_runs_have_no_order(table: list[list[int]], random: Random) -> None:
    """Relabelled runs and cases leave the shock checks alone, and their p values lie in [0, 1]."""
    runs = table.copy()
    random.shuffle(runs)
    columns = np.array(runs)[:, random.sample(range(len(table[0])), len(table[0]))]
    for test in (stats.shock_test, stats.shock_test_exact):
        before, after = test(table), test(columns)
        assert before.pvalue == pytest.approx(after.pvalue)
        assert before.ratio == pytest.approx(after.ratio, nan_ok=True)
        assert 0 <= before.pvalue <= 1


@given(tables)
def test_the_order_in_which_runs_are_merged_is_nothing(table: list[list[int]]) -> None:
    """Adding up two halves of the runs in either order gives the same result as all runs at once."""
    array = np.array(table)
    halves = array[:1].sum(axis=0), array[1:].sum(axis=0)

    assert stats.fixed_cases(halves[0] + halves[1], len(array)) == stats.fixed_cases(
        array[::-1].sum(axis=0), len(array)
    )


@settings(max_examples=50)
@given(arms, st.integers(1, 5))
def test_more_attempts_pass_more_often(pairs: Arms, k: int) -> None:
    """pass^k <= pass rate <= pass@k, both inside [0, 1], moving apart as k grows; k = 1 is the rate."""
    passes, runs, _, _ = _columns(pairs)
    assume(max(runs) >= k)
    long = [(c, r) for c, r in zip(passes, runs, strict=True) if r >= k]
    at, hat = stats.pass_at_k(passes, runs, k), stats.pass_hat_k(passes, runs, k)
    share = float(np.mean([c / r for c, r in long]))

    assert 0 <= hat.estimate <= share + 1e-12
    assert share - 1e-12 <= at.estimate <= 1
    assert at.dropped == len(passes) - len(long)
    if at.known:
        assert 0 <= at.low <= at.estimate <= at.high <= 1
    if k == 1:
        assert (at.estimate, hat.estimate) == pytest.approx((share, share))


@settings(max_examples=50)
@given(arms)
def test_counts_add_up(pairs: Arms) -> None:
    """Always, never and flaky are all the cases; consistency is the share that is not flaky."""
    passes, runs, _, _ = _columns(pairs)
    counts = stats.case_counts(passes, runs)

    assert counts.always + counts.never + counts.flaky == len(passes)
    assert len(counts.flaky_cases) == counts.flaky
    if min(runs) > 1:
        assert stats.consistency(passes, runs).estimate == pytest.approx(1 - counts.flaky / len(passes))


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=2, max_size=20), st.randoms())
def test_groups_have_no_names(members: list[tuple[int, float]], random: Random) -> None:
    """Renamed groups and shuffled cases give the same interval."""
    assume(len({group for group, _ in members}) > 1)
    shuffled = members.copy()
    random.shuffle(shuffled)
    for method in ("cr1", "cr2"):
        before = stats.clustered([v for _, v in members], [g for g, _ in members], method=method)
        after = stats.clustered([v for _, v in shuffled], [f"g{g}" for g, _ in shuffled], method=method)
        assert before.standard_error == pytest.approx(after.standard_error, abs=1e-9)
        assert before.df == pytest.approx(after.df)
