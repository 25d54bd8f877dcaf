"""Gate, switch and regression decisions: every verdict, its precedence, and that NaN proves nothing."""

from itertools import permutations
from math import inf, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiltyard_stats as stats
from tiltyard_stats import Interval, Outcome

edges = st.one_of(st.floats(-1, 1), st.just(nan))


def interval(estimate: float, low: float, high: float, confidence: float = 0.95) -> Interval:
    """An interval that nothing but its numbers is known of."""
    return Interval(estimate, low, high, confidence, "given", 40, "these cases")


def drop(pvalue: float, difference: float = -0.2) -> stats.TestResult:
    """A one-sided test of a drop."""
    return stats.TestResult(difference, pvalue, "given", 40, "these cases", alternative="less")


UNKNOWN = interval(0.5, nan, nan)


@pytest.mark.parametrize(
    ("outcome", "verdict", "reason"),
    [
        (stats.no_significant_drop(interval(-0.1, -0.2, -0.01)), "FAIL", ""),
        (stats.no_significant_drop(interval(-0.1, -0.2, 0.0)), "PASS", ""),
        (
            stats.no_significant_drop(interval(-0.1, -0.2, 0.01), runs=2, shocked=True),
            "INCONCLUSIVE",
            "rerun",
        ),
        (stats.no_significant_drop(interval(-0.1, -0.2, -0.01), runs=3, shocked=True), "FAIL", ""),
        (stats.no_significant_drop(UNKNOWN), "INCONCLUSIVE", "unknown-bound"),
        (stats.no_regression(interval(0.01, -0.02, 0.04), 0.02), "PASS", ""),
        (stats.no_regression(interval(-0.1, -0.2, -0.03), 0.02), "FAIL", ""),
        (stats.no_regression(interval(0.01, -0.03, 0.05), 0.02), "INCONCLUSIVE", "spans-limit"),
        (stats.no_regression(interval(0.5, 0.4, 0.6), 0.02, runs=2, shocked=True), "INCONCLUSIVE", "rerun"),
        (stats.no_regression(UNKNOWN, 0.02, runs=4), "INCONCLUSIVE", "unknown-bound"),
        (stats.min_rule_rate(interval(0.9, 0.8, 0.95), 0.8), "PASS", ""),
        (stats.min_rule_rate(interval(0.5, 0.4, 0.7), 0.8), "FAIL", ""),
        (stats.min_rule_rate(interval(0.8, 0.7, 0.9), 0.8), "INCONCLUSIVE", "spans-limit"),
        (stats.min_rule_rate(UNKNOWN, 0.1), "INCONCLUSIVE", "unknown-bound"),
        (stats.max_cost_ratio(interval(1.0, 0.9, 1.1), 1.1), "PASS", ""),
        (stats.max_cost_ratio(interval(1.5, 1.2, 1.9), 1.1), "FAIL", ""),
        (stats.max_cost_ratio(interval(1.0, 0.9, 1.2), 1.1), "INCONCLUSIVE", "spans-limit"),
        (stats.max_cost_ratio(UNKNOWN, 9.0), "INCONCLUSIVE", "unknown-bound"),
        (
            stats.max_cost_ratio(Interval(0.5, 0.4, 0.6, 0.95, "log-t", 4, "blocked"), 1.1),
            "INCONCLUSIVE",
            "blocked",
        ),
        (stats.max_no_answer(2, 100, 0.02), "PASS", ""),
        (stats.max_no_answer(3, 100, 0.02), "FAIL", ""),
        (stats.max_infra(5, 100), "PASS", ""),
        (stats.max_infra(6, 100), "UNHEALTHY", ""),
        (stats.min_runs(2, 2), "PASS", ""),
        (stats.min_runs(1, 2), "INCONCLUSIVE", "few-runs"),
    ],
)
def test_each_rule(outcome: Outcome, verdict: str, reason: str) -> None:
    """Each verdict of each rule, at its edge where it has one."""
    assert (outcome.verdict, outcome.reason) == (verdict, reason)


@given(edges, edges, edges, st.floats(0, 0.5))
def test_nan_never_passes(estimate: float, low: float, high: float, limit: float) -> None:
    """With a NaN bound nothing passes that an interval judges, and nothing fails by it."""
    given_ = interval(estimate, low, high)
    outcomes = [
        stats.no_significant_drop(given_),
        stats.no_regression(given_, limit),
        stats.min_rule_rate(given_, limit),
        stats.max_cost_ratio(given_, limit + 0.1),
        stats.max_slice_drop({"a": given_}, limit),
    ]
    if isnan(low) and isnan(high):
        assert {outcome.verdict for outcome in outcomes} == {"INCONCLUSIVE"}
    if isnan(low):
        assert outcomes[1].verdict != "PASS"
        assert outcomes[2].verdict != "PASS"
    if isnan(high):
        assert outcomes[0].verdict != "PASS"
        assert outcomes[3].verdict != "PASS"
        assert outcomes[4].verdict != "PASS"


def test_an_unbounded_cost_never_passes() -> None:
    """Fieller's interval may be open at the top."""
    assert stats.max_cost_ratio(interval(0.5, 0.1, inf), 100.0).verdict == "INCONCLUSIVE"


def test_runs_that_would_settle_a_gate() -> None:
    """S: +1.0 with a half width of 7.19 at margin 2: about 6 runs; none helps beyond the margin."""
    assert stats.no_regression(interval(1.0, -6.187, 8.187), 2.0, runs=1).runs == 6
    assert stats.no_regression(interval(-3.0, -9.0, 3.0), 2.0, runs=1).runs is None


def test_slices() -> None:
    """Proven drops fail, unproven ones are leads, slices without data are listed and not counted."""
    slices = {
        "proven": interval(-0.3, -0.45, -0.15, 0.99),
        "lead": interval(-0.2, -0.45, 0.05, 0.99),
        "fine": interval(0.0, -0.1, 0.1, 0.99),
        "empty": None,
    }
    outcome = stats.max_slice_drop(slices, 0.1)

    assert outcome.verdict == "FAIL"
    assert (outcome.failed, outcome.leads, outcome.missing) == (("proven",), ("lead",), ("empty",))
    assert outcome.estimate == -0.3
    assert stats.max_slice_drop({k: slices[k] for k in ("lead", "fine")}, 0.1).verdict == "PASS"
    assert stats.max_slice_drop({"empty": None}, 0.1).reason == "no-data"
    unknown = stats.max_slice_drop({"lone": UNKNOWN, "fine": slices["fine"]} | {"lone": UNKNOWN_AT_99}, 0.1)
    assert (unknown.verdict, unknown.unknown) == ("INCONCLUSIVE", ("lone",))


UNKNOWN_AT_99 = interval(0.5, nan, nan, 0.99)


def test_slices_need_the_corrected_confidence() -> None:
    """Three slices with data at 5% in all: 98.33% each; 95% is refused."""
    slices = {name: interval(0, -0.1, 0.1) for name in "abc"}

    with pytest.raises(ValueError, match=r"slices\['a'\].confidence \(0.95\) must be at least 0.98"):
        stats.max_slice_drop(slices, 0.1)
    assert stats.max_slice_drop(slices, 0.1, alpha=0.15).verdict == "PASS"


def test_rules_are_corrected_for_their_number() -> None:
    """At four rules p must be at most .0125; between that and .05 it is a lead."""
    outcome = stats.no_rule_regression({"a": drop(0.0125), "b": drop(0.03), "c": drop(0.5), "d": drop(0.9)})

    assert (outcome.verdict, outcome.failed, outcome.leads) == ("FAIL", ("a",), ("b",))
    assert stats.no_rule_regression({"a": drop(0.03), "b": drop(0.5)}).verdict == "PASS"
    unknown = stats.no_rule_regression({"a": drop(nan), "b": drop(0.5)})
    assert (unknown.verdict, unknown.unknown) == ("INCONCLUSIVE", ("a",))


@pytest.mark.parametrize(
    ("verdicts", "verdict", "code"),
    [
        (("PASS",), "PASS", 0),
        (("PASS", "INCONCLUSIVE"), "INCONCLUSIVE", 2),
        (("PASS", "INCONCLUSIVE", "FAIL"), "FAIL", 1),
        (("PASS", "INCONCLUSIVE", "FAIL", "UNHEALTHY"), "UNHEALTHY", 3),
    ],
)
def test_the_gravest_rule_decides(verdicts: tuple[str, ...], verdict: str, code: int) -> None:
    """In any order of the rules."""
    for order in permutations(verdicts):
        result = stats.gate([Outcome("rule", each) for each in order])
        assert (result.verdict, result.exit_code) == (verdict, code)


GOOD, BAD, OPEN = interval(0.02, -0.01, 0.05), interval(-0.2, -0.3, -0.1), interval(0.0, -0.1, 0.1)
CHEAP, DEAR, WIDE = interval(0.5, 0.4, 0.6), interval(2, 1.5, 2.5), interval(1, 0.5, 2)


@pytest.mark.parametrize(
    ("quality", "cost", "verdict", "code"),
    [
        (GOOD, CHEAP, "SWITCH", 0),
        (GOOD, DEAR, "KEEP", 1),
        (BAD, CHEAP, "KEEP", 1),
        (OPEN, DEAR, "KEEP", 1),
        (OPEN, CHEAP, "NOT YET", 2),
        (GOOD, WIDE, "NOT YET", 2),
        (UNKNOWN, CHEAP, "NOT YET", 2),
        (GOOD, UNKNOWN, "NOT YET", 2),
    ],
)
def test_switch(quality: Interval, cost: Interval, verdict: str, code: int) -> None:
    """No worse and within the cost limit; either proven otherwise keeps; and health comes first."""
    candidate = stats.Candidate("new", quality, cost)
    result = stats.switch([candidate], margin=0.03, max_ratio=1.0)

    assert (result.verdict, result.exit_code) == (verdict, code)
    assert result.chosen == ("new" if verdict == "SWITCH" else None)
    sick = stats.switch([candidate], margin=0.03, max_ratio=1.0, unhealthy=True)
    assert (sick.verdict, sick.exit_code, sick.chosen) == ("UNHEALTHY", 3, None)


def at(confidence: float, *edges_: float) -> Interval:
    """An interval of another confidence."""
    return interval(*edges_, confidence=confidence)


def test_two_chances_are_tested_at_half_of_alpha() -> None:
    """As it is and adapted: 95% intervals are refused, 97.5% ones decide; one that may suffices."""
    good, bad, cheap = (
        at(0.975, *edges_) for edges_ in ((0.02, -0.01, 0.05), (-0.2, -0.3, -0.1), (0.5, 0.4, 0.6))
    )
    both = [stats.Candidate("as-is", bad, cheap), stats.Candidate("adapted", good, cheap)]
    result = stats.switch(both, margin=0.03, max_ratio=1.0)

    assert (result.verdict, result.chosen, result.confidence) == ("SWITCH", "adapted", 0.975)
    assert (
        stats.switch([both[0], stats.Candidate("b", bad, cheap)], margin=0.03, max_ratio=1).verdict == "KEEP"
    )
    open_ = stats.Candidate("b", at(0.975, 0, -0.1, 0.1), cheap)
    assert stats.switch([both[0], open_], margin=0.03, max_ratio=1.0).verdict == "NOT YET"
    plain = [stats.Candidate(name, GOOD, CHEAP) for name in ("as-is", "adapted")]
    with pytest.raises(ValueError, match=r"as-is.quality.confidence \(0.95\) must be at least 0.975"):
        stats.switch(plain, margin=0.03, max_ratio=1.0)


@pytest.mark.parametrize(
    ("slices", "verdict", "worst"),
    [
        ({"en": GOOD, "de": GOOD}, "SWITCH", "en"),
        ({"en": GOOD, "de": OPEN}, "NOT YET", "de"),
        ({"en": OPEN, "de": BAD, "fr": GOOD}, "KEEP", "de"),
        ({"en": GOOD, "de": UNKNOWN}, "NOT YET", "de"),
    ],
)
def test_strict_slices(slices: dict[str, Interval], verdict: str, worst: str) -> None:
    """No better than the worst slice; without strictness slices are shown and decide nothing."""
    candidate = stats.Candidate("new", GOOD, CHEAP, slices)
    strict = stats.switch([candidate], margin=0.03, max_ratio=1.0, strict_slices=True)
    loose = stats.switch([candidate], margin=0.03, max_ratio=1.0)

    assert (strict.verdict, strict.candidates[0].worst_slice) == (verdict, worst)
    assert loose.verdict == "SWITCH"
    assert set(loose.candidates[0].slices) == set(slices)


RATIO = interval(1.0, 0.9, 1.15)


@pytest.mark.parametrize(
    ("test", "ratio", "runs", "findings", "codes"),
    [
        (stats.fisher_drop(4, 4, 0, 4), RATIO, (8, 8), ("regressed",), ()),
        (stats.fisher_drop(4, 4, 3, 4), RATIO, (8, 8), (), ("within-noise",)),
        (stats.fisher_drop(4, 4, 4, 4), RATIO, (8, 8), (), ()),
        (drop(0.1), RATIO, (8, 8), (), ("within-noise",)),
        (drop(0.01, 0.1), RATIO, (8, 8), (), ()),
        (drop(nan), RATIO, (8, 8), (), ("within-noise",)),
        (drop(0.01), interval(2, 1.5, 2.5), (8, 8), ("regressed", "dearer"), ()),
        (drop(0.5, 0.0), interval(2, 1.5, 2.5), (4, 8), ("dearer",), ("provisional",)),
        (drop(0.5, 0.0), interval(2, 1.5, 2.5), (3, 8), (), ("few-runs",)),
        (drop(0.5, 0.0), interval(1.2, 1.05, 1.4), (8, 8), (), ()),
        (drop(0.5, 0.0), interval(0.6, 0.4, 0.8), (8, 8), ("improved",), ()),
        (drop(0.5, 0.0), UNKNOWN, (8, 8), (), ("unknown-bound",)),
    ],
)
def test_regression(
    test: stats.TestResult,
    ratio: Interval,
    runs: tuple[int, int],
    findings: tuple[str, ...],
    codes: tuple[str, ...],
) -> None:
    """Regressed needs a lower rate and p < .1; costs need 4 runs a side and an interval beyond 10%."""
    result = stats.regression_verdict(test, ratio, n_old=runs[0], n_new=runs[1])

    assert (result.findings, result.warnings) == (findings, codes)
    assert result.verdict == (findings[0] if findings else "same")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.gate([]), "outcomes (none) must hold at least one"),
        (lambda: stats.no_regression(GOOD, -0.1), "margin (-0.1) must be a finite number of at least 0"),
        (lambda: stats.no_regression(GOOD, 0.1, shocked=True), "runs (None) must be given when shocked"),
        (lambda: stats.min_rule_rate(GOOD, 80), "minimum (80) must lie in [0, 1]"),
        (lambda: stats.max_infra(1, 0), "n (0) must be at least 1"),
        (lambda: stats.max_no_answer(1, 10, 5), "limit (5) must lie in [0, 1]"),
        (lambda: stats.max_cost_ratio(CHEAP, 0), "limit (0) must be a finite number above 0"),
        (lambda: stats.no_rule_regression({}), "drops (none) must hold at least one rule"),
        (
            lambda: stats.switch([], margin=0.1, max_ratio=1),
            "candidates (0) must be a whole number of at least 1",
        ),
        (
            lambda: stats.switch(
                [stats.Candidate("a", at(0.99, 0, 0, 0), at(0.99, 0, 0, 0))] * 2, margin=0.1, max_ratio=1
            ),
            "candidates (['a', 'a']) must have names of their own",
        ),
        (
            lambda: stats.switch(
                [stats.Candidate("a", GOOD, CHEAP)], margin=0.1, max_ratio=1, strict_slices=True
            ),
            "a.slices (none) must hold a slice",
        ),
        (
            lambda: stats.no_rule_regression({"a": stats.TestResult(0, 0.5, "z", 4, "these cases")}),
            "drops['a'].alternative ('two-sided') must be one of 'less'",
        ),
    ],
)
def test_decision_errors(call: "object", message: str) -> None:
    """Each names the argument, its value and the rule."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)
