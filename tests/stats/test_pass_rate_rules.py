"""Rules of the pass-rate statistics: telling errors, warning codes, and which interval a design gets."""

from collections.abc import Callable
from math import isnan, nan
from typing import Any

import numpy as np
import pytest

import tiltyard_stats as stats

ODD: Any = "odd"
MISSING: Any = None
RAGGED: Any = [[1], [0, 1]]
SHOCKED = np.array([[1] * 20, [1] * 20, [0] * 12 + [1] * 8])
STEADY = np.array([[1, 0] * 10, [0, 1] * 10, [1, 1, 0, 0] * 5])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.clopper_pearson(0, 0), "n (0) must be at least 1"),
        (lambda: stats.mid_p(nan, 4), "successes (nan) must be a whole number"),
        (lambda: stats.newcombe_diff(1, 2, 3, 2), "successes_b (3) must not exceed n_b (2)"),
        (lambda: stats.fisher_drop(1, 2, 1, 2, method=ODD), "method ('odd') must be one of 'fisher-exact'"),
        (lambda: stats.mcnemar(1, -1), "only_b (-1) must be a whole number of at least 0"),
        (
            lambda: stats.paired_diff_t(0, 0, 0),
            "plus + minus + zero (0) must be a whole number of at least 1",
        ),
        (
            lambda: stats.pass_at_k([1, 2], [2, 3], 4),
            "k (4) must not exceed the runs of every case (at most 3)",
        ),
        (lambda: stats.pass_hat_k_by_case(1, 3, 4), "k (4) must not exceed the runs of a case (3)"),
        (lambda: stats.pass_at_k([1], 2, 0), "k (0) must be a whole number of at least 1"),
        (lambda: stats.pass_at_k([], 2, 1), "passes (shape (0,)) must hold one count per case"),
        (
            lambda: stats.fixed_cases([1, 2], [2, 2, 2]),
            "runs (shape (3,)) must be one number, or one per case",
        ),
        (lambda: stats.fixed_cases([1, nan], 2), "must be a whole number of at least 0"),
        (lambda: stats.fixed_cases([1, 1], [1, 2], method="wilson-neff"), "a single run has no variance"),
        (lambda: stats.fixed_cases_diff([1], 2, [1, 2], 2), "candidate (1 cases) and baseline (2 cases)"),
        (lambda: stats.stratified_test([1], 2, [3], 2), "baseline ([3]) must not exceed baseline_runs (2)"),
        (lambda: stats.shock_test([[1, 0]]), "run_passes (shape (1, 2)) must be a table of runs and cases"),
        (lambda: stats.shock_test([[1.0, 0.0], [1.0, nan]]), "run_passes holds nan; each outcome must be 0"),
        (lambda: stats.reliability([[0.5]]), "outcomes holds 0.5; each outcome must be 0 (failed) or 1"),
        (lambda: stats.consistency([1, 0], 1), "runs (1) must be at least 2 in some case"),
        (lambda: stats.sampled([0.5, 1.5], bounds=(0, 1)), "values holds 1.5; each must lie in the bounds"),
        (lambda: stats.sampled_diff([1.0], [1.0, 2.0]), "must hold the same cases"),
        (lambda: stats.welch([1.0, nan], [1.0]), "a holds nan; leave missing values out"),
        (lambda: stats.clustered([1, 0], ["a", "a"]), "groups (1) must hold at least 2"),
        (lambda: stats.clustered([1, 0], ["a"]), "groups (1) must name one group for each of the 2 values"),
        (lambda: stats.clustered([1, 0], ["a", []]), "groups[1] names 0 groups (none)"),
        (lambda: stats.design_effect(1.5, 2), "icc (1.5) must lie in [0, 1]"),
        (lambda: stats.clustered([1, 0], ["a", None]), "groups[1] (None) must name a group"),
        (lambda: stats.clustered([1, 0], ["a", nan]), "groups[1] (nan) must name a group"),
        (lambda: stats.mcnemar(MISSING, 1), "only_a (None) must be a whole number"),
        (lambda: stats.boschloo_drop(1, 2, 1, 0), "new_n (0) must be at least 1"),
        (lambda: stats.newcombe_diff(1, MISSING, 1, 2), "n_a (None) must be a whole number"),
        (
            lambda: stats.shock_test(RAGGED),
            "run_passes ([[1], [0, 1]]) must hold numbers, in rows of equal length",
        ),
        (lambda: stats.pass_at_k_by_case([], [], 1), "passes ([]) must hold at least one count"),
        (lambda: stats.common_cases([]), "runs (none) must hold at least one run"),
        (lambda: stats.common_cases([["a"], ["b"]]), "at least one case that each of them attempted"),
        (lambda: stats.case_changes([2.0], [1.0]), "candidate holds 2.0; a rate must lie in [0, 1]"),
        (lambda: stats.case_changes([1.0], [1.0, 0.0]), "candidate (1), baseline (2) and cases (1)"),
        (lambda: stats.curated_diff([[1, 0]], [[1]]), "candidate (2 cases) and baseline (1 cases)"),
    ],
)
def test_errors_name_argument_value_and_rule(call: Callable[[], object], message: str) -> None:
    """One sentence that a caller can act on."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)


def test_overlapping_groups_are_refused_with_the_reason() -> None:
    """A case of two groups has no place in a sum over groups; one group in a list is fine."""
    with pytest.raises(ValueError, match=r"groups\[1\] names 2 groups \(a, b\).*ties them together"):
        stats.clustered([1, 0, 1], ["a", ["b", "a"], "b"])
    listed = stats.clustered([1, 0, 1, 1], [["a"], ("a",), {"b"}, frozenset({"b"})])

    assert listed == stats.clustered([1, 0, 1, 1], ["a", "a", "b", "b"])


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (stats.paired_diff_t(0, 0, 5), "zero-variance"),
        (stats.paired_diff_t(1, 0, 0), "n<2"),
        (stats.pass_at_k([1, 1], 2, 1), "zero-variance"),
        (stats.pass_at_k([1], 2, 1), "n<2"),
        (stats.pass_hat_k([2, 2], 2, 2, method="source"), "zero-variance"),
        (stats.fixed_cases([2, 2, 0], 2, method="source"), "zero-variance"),
        (stats.fixed_cases_diff([2, 0], 2, [2, 2], 2, method="source"), "zero-variance"),
        (stats.sampled([0.5]), "n<2"),
        (stats.sampled_diff([0.5, 0.25], [0.25, 0.0]), "zero-variance"),
        (stats.clustered([0.1, 0.1, 0.1], ["a", "b", "c"]), "zero-variance"),
        (stats.runs_t([0.4]), "n<2"),
        (stats.welch([1.0], [2.0, 3.0]), "n<2"),
        (stats.welch([1.0, 1.0], [2.0, 2.0]), "zero-variance"),
    ],
)
def test_an_unknown_bound_is_nan_with_a_code(result: stats.Interval, code: str) -> None:
    """The estimate stays and no rule reads the bounds as a difference."""
    assert np.isfinite(result.estimate)
    assert isnan(result.low)
    assert isnan(result.high)
    assert code in result.warnings
    assert not result.excludes(-5.0)


def test_wilson_stays_valid_without_variance() -> None:
    """20 of 20 on two runs is no proof of 100%, where a normal interval has no width at all."""
    rate = stats.fixed_cases([2] * 20, 2)

    assert (rate.low, rate.high) == (stats.wilson(40, 40).low, 1.0)
    assert rate.warnings == ("zero-variance", "few-flaky")
    assert stats.pass_hat_k([2] * 20, 2, 2).low == stats.wilson(20, 20).low


@pytest.mark.parametrize(("flaky", "method"), [(9, "wilson"), (10, "wilson-neff"), (0, "wilson")])
def test_auto_needs_ten_flaky_cases(flaky: int, method: str) -> None:
    """Below, their own variance is no sound estimate."""
    rate = stats.fixed_cases([1] * flaky + [2] * (30 - flaky), 2)

    assert (rate.method, rate.flaky) == (method, flaky)
    assert ("few-flaky" in rate.warnings) == (method == "wilson")


def test_auto_with_a_lone_run() -> None:
    """A case of one run has no variance: all attempts count as for equal rates, or worse."""
    rate = stats.fixed_cases([1] * 20 + [1], [2] * 20 + [1])

    assert (rate.method, "one-run" in rate.warnings, isnan(rate.variance)) == ("wilson", True, True)
    assert stats.fixed_cases([1, 0, 1], 1).low == stats.wilson(2, 3).low


def test_one_run_of_each_arm() -> None:
    """From ten discordant cases the paired difference, below them the outer bound by MOVER."""
    many = stats.fixed_cases_diff([1] * 8 + [0] * 22, 1, [0] * 16 + [1] * 14, 1)
    few = stats.fixed_cases_diff([1] * 3 + [0] * 27, 1, [0] * 30, 1)

    assert many.method == "paired-t"
    assert (many.low, many.high) == (
        stats.paired_diff_t(8, 14, 8).low,
        stats.paired_diff_t(8, 14, 8).high,
    )
    assert few.method == "mover-wilson"
    assert (few.low, few.high) == pytest.approx(
        (stats.newcombe_diff(3, 30, 0, 30).low, stats.newcombe_diff(3, 30, 0, 30).high)
    )
    assert "one-run" in few.warnings
    assert "one-run" in many.warnings


def test_source_of_a_difference_is_normal() -> None:
    """d and z times the root of both variances."""
    ours, theirs = [2, 1, 0, 1, 2, 2], [3, 1, 1, 4, 4, 2]
    diff = stats.fixed_cases_diff(ours, 2, theirs, 4, method="source", confidence=0.9)
    parts = stats.fixed_cases(ours, 2, method="source"), stats.fixed_cases(theirs, 4, method="source")
    half = 1.6448536269514722 * (parts[0].variance + parts[1].variance) ** 0.5

    assert (diff.low, diff.high) == pytest.approx((diff.estimate - half, diff.estimate + half))


def test_a_test_that_could_not_come_out_otherwise() -> None:
    """When each case passed always or never in both arms, all p values are 1, and the result says so."""
    test = stats.stratified_test([2, 0], 2, [4, 0], 4)

    assert (test.p_drop, test.p_rise, test.pvalue, test.midp_drop, test.cmh_pvalue) == (1, 1, 1, 1, 1)
    assert isnan(test.cmh_statistic)
    assert set(test.warnings) == {"degenerate", "zero-variance"}
    assert stats.mcnemar(0, 0).warnings == ("degenerate",)


@pytest.mark.parametrize(
    ("table", "rule", "method", "codes"),
    [
        (STEADY[:1], "one-run", "wilson", {"one-run"}),
        (STEADY, "fixed-cases", "wilson-neff", set()),
        (SHOCKED, "over-runs", "t", {"shock"}),
        (SHOCKED[1:], "rerun", "wilson-neff", {"shock", "rerun"}),
    ],
)
def test_a_curated_set_gets_what_its_runs_allow(
    table: "np.ndarray[tuple[int, int], np.dtype[np.int64]]", rule: str, method: str, codes: set[str]
) -> None:
    """One run, several, several with a shock, and two with a shock that only a rerun can settle."""
    result = stats.curated(table)

    assert (result.rule, result.interval.method) == (rule, method)
    assert codes <= set(result.interval.warnings)
    assert ("shock" in result.interval.warnings) == ("shock" in codes)
    assert len(result.shocks) == (len(table) > 1)


def test_a_shock_in_either_arm_counts() -> None:
    """Welch over runs when both arms have three, else a rerun."""
    over, rerun, plain, one = (
        stats.curated_diff(*arms)
        for arms in ((STEADY, SHOCKED), (STEADY[:2], SHOCKED), (STEADY, STEADY), (STEADY[:1], STEADY[1:2]))
    )

    assert (over.rule, over.interval.method) == ("over-runs", "welch")
    assert rerun.rule == "rerun"
    assert "rerun" in rerun.interval.warnings
    assert (plain.rule, plain.interval.estimate) == ("fixed-cases", 0.0)
    assert (one.rule, one.interval.method) == ("one-run", "paired-t")
    assert one.shocks == ()


def test_short_cases_are_left_out_and_counted() -> None:
    """pass@3 speaks about cases of three runs or more; consistency about cases of two."""
    rate = stats.pass_at_k([1, 2, 0, 3], [1, 3, 3, 3], 3)
    steady = stats.consistency([1, 2, 1], [1, 2, 2])

    assert (rate.dropped, rate.n) == (1, 3)
    assert rate.estimate == pytest.approx(2 / 3)
    assert "short-cases" in rate.warnings
    assert (steady.n, steady.estimate, steady.warnings) == (2, 0.5, ("short-cases",))


def test_a_report_can_be_made_again() -> None:
    """The bootstrap is seeded with 0 unless told otherwise."""
    passes = [0, 1, 2, 2] * 6
    first, second = (stats.pass_at_k(passes, 2, 2, method="source") for _ in range(2))
    other = stats.pass_at_k(passes, 2, 2, method="source", rng=np.random.default_rng(9))

    assert (first.low, first.high) == (second.low, second.high)
    assert other.low == pytest.approx(first.low, abs=0.06)


def test_components_without_data() -> None:
    """One run of each case, one case, or nothing that varies."""
    assert stats.variance_components([[1], [0]]).warnings == ("n<2",)
    lone = stats.variance_components([[1, 0, 1]])
    assert lone.warnings == ("n<2",)
    assert lone.within == pytest.approx(1 / 3)
    still = stats.variance_components([[1, 1], [1, 1]])
    assert (still.warnings, isnan(still.icc)) == (("zero-variance",), True)
    assert stats.variance_components([[1, 0], [0, 1]]).between == 0


def test_what_runs_are_worth() -> None:
    """At an icc of .5, 5 runs of a case are worth 1.67 attempts and endless ones 2."""
    five = stats.design_effect(0.5, 5)

    assert (five.deff, round(five.effective_attempts, 2), five.ceiling) == (3.0, 1.67, 2.0)
    assert stats.design_effect(0.0, 5).effective_attempts == 5


def test_changes_of_cases_are_absolute() -> None:
    """.2 to .1 halves the rate and stays under a threshold of .15; equal to the threshold is no change."""
    changes = stats.case_changes([0.1, 0.5, 0.9], [0.2, 0.8, 0.6], threshold=0.3)

    assert (changes.regressed, changes.improved) == ((), ())
    assert stats.case_changes([0.1, 0.5, 0.9], [0.2, 0.8, 0.6], threshold=0.15).regressed == (1,)
    assert stats.case_changes([0.1, 0.5, 0.9], [0.2, 0.8, 0.6], cases="abc").improved == ("c",)


def test_changed_factors() -> None:
    """One named, several warned of, none warned of; a missing one is a change."""
    base = {"model": "m", "prompt": "p"}

    assert stats.changed_factors(base, base | {"model": "n"}).warnings == ()
    assert stats.changed_factors(base, base).warnings == ("no-factors",)
    several = stats.changed_factors(base, {"model": "n", "tools": None})
    assert several.changed == {"model": ("m", "n"), "prompt": ("p", None), "tools": (None, None)}
    assert several.warnings == ("several-factors",)


def test_few_trials() -> None:
    """Either side below the minimum is told."""
    assert stats.few_trials(4, 4) == ()
    assert stats.few_trials(9, 3) == ("few-trials",)
    assert stats.few_trials(9, 3, minimum=2) == ()


def test_each_claim_has_its_words() -> None:
    """What a fixed, sampled or clustered result says is told apart."""
    results = (
        stats.fixed_cases([1, 2], 2),
        stats.sampled([0.5, 1.0]),
        stats.clustered([1, 0], ["a", "b"]),
    )

    assert [result.claim for result in results] == list(stats.CLAIMS)
