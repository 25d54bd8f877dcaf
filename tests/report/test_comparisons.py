"""Each number on quality and comparisons against a direct call of the statistics; policies, groups."""

from types import ModuleType
from typing import Any

import pytest

import tiltyard_stats as stats
from tiltyard_report import Report, analyse, render_markdown
from tiltyard_report.delta_model import Delta
from tiltyard_report.model import ArmRow
from tiltyard_specs.errors import DataError, UsageError

PLAIN = {"a": "1101", "b": "0110", "c": "1111"}
DOCS = {"a": "1111", "b": "0111", "c": "0111"}
TOKENS = [20_000, 22_000, 25_000, 19_000]


def runs(make: ModuleType, arm: str, ends: dict[str, str], **changes: Any) -> list[dict[str, Any]]:
    """One record for each digit: 1 passed, 0 failed, x lost to infra."""
    words = {"1": "passed", "0": "failed", "x": "infra"}
    return [
        make.record(
            case, arm, "codex", rep, TOKENS[rep - 1] + 10 * rep, outcome=words[end], score=None, **changes
        )
        for case, digits in ends.items()
        for rep, end in enumerate(digits, 1)
    ]


def row(report: Report, name: str) -> ArmRow:
    """One arm with the only agent."""
    return next(each for each in report.agents[0].arms if each.arm == name)


def delta(report: Report, name: str) -> Delta:
    """One comparison."""
    found = row(report, name).delta
    assert found is not None
    return found


@pytest.fixture
def report(make: ModuleType) -> Report:
    return analyse([*runs(make, "plain", PLAIN), *runs(make, "docs", DOCS)], baseline="plain")


def counts(ends: dict[str, str]) -> tuple[list[int], list[int]]:
    return [digits.count("1") for digits in ends.values()], [len(digits) for digits in ends.values()]


def table(ends: dict[str, str]) -> list[list[int]]:
    return [[int(end) for end in row] for row in zip(*ends.values(), strict=True)]


def test_quality(report: Report) -> None:
    """Pass rate, repeats, reliability, consistency, counts and successes are those of the statistics."""
    quality = row(report, "docs").quality
    assert quality is not None
    assert quality.rate is not None
    passes, n = counts(DOCS)
    costs = [TOKENS[rep] + 10 * (rep + 1) for _ in DOCS for rep in range(4)]
    flags = [int(end) for digits in DOCS.values() for end in digits]

    assert repr(quality.rate.interval) == repr(stats.curated(table(DOCS)).interval)
    assert [item.k for item in quality.repeats] == [1, 3]
    assert repr(quality.repeats[1].at_least_one) == repr(stats.pass_at_k(passes, n, 3))
    assert repr(quality.repeats[1].every) == repr(stats.pass_hat_k(passes, n, 3))
    assert repr(quality.reliability) == repr(stats.reliability(table(DOCS)))
    assert repr(quality.consistency) == repr(stats.consistency(passes, n))
    assert (quality.always, quality.never, quality.flaky_questions) == (1, 0, ("b", "c"))
    assert repr(quality.tokens_per_success) == repr(stats.cost_per_success(costs, flags))


def test_pass_difference(report: Report) -> None:
    """Interval, exact test, smallest difference and questions that moved."""
    found = delta(report, "docs")
    passes = found.passes
    assert passes is not None
    exact = stats.stratified_test(*counts(DOCS), *counts(PLAIN))
    interval = stats.curated_diff(table(DOCS), table(PLAIN)).interval

    assert repr(passes.interval) == repr(interval)
    assert (passes.pvalue, passes.adjusted) == (exact.pvalue, exact.pvalue)
    assert (passes.p_drop, passes.p_rise, passes.midp) == (exact.p_drop, exact.p_rise, exact.midp_two_sided)
    assert passes.decision.verdict == "no clear difference"
    assert (found.regressed, found.improved) == (("c",), ("a", "b"))
    assert passes.claim == "The difference in the pass rate is claimed on this set of cases."
    assert "It says nothing on other cases." in passes.estimand


@pytest.mark.parametrize("design", ["sampled", "clustered"])
def test_other_designs(make: ModuleType, design: str) -> None:
    """The interval, the rule and the claim follow the design."""
    groups = {"a": "one", "b": "two", "c": "two"}
    records = [
        record | {"capability": groups[record["question"]]}
        for record in (*runs(make, "plain", PLAIN), *runs(make, "docs", DOCS))
    ]
    passes = delta(analyse(records, baseline="plain", design=design), "docs").passes
    assert passes is not None
    rates = [[digits.count("1") / 4 for digits in ends.values()] for ends in (DOCS, PLAIN)]
    expected = (
        stats.sampled_diff(*rates, bounds=(-1, 1))
        if design == "sampled"
        else stats.clustered_diff(*rates, ["one", "two", "two"], bounds=(-1, 1))
    )

    assert repr(passes.interval) == repr(expected)
    assert passes.rule == design
    assert "in the population that the" in passes.claim


def test_overlapping_groups_are_refused_with_the_reason(make: ModuleType) -> None:
    """A question in two groups would count twice; other designs do not ask."""
    records = [
        make.record(f"q{number}", arm, "g", rep, tags=["a" if number else "b" if rep > 1 else "c"])
        for number in range(3)
        for arm in ("plain", "docs")
        for rep in (1, 2)
    ]
    with pytest.raises(DataError, match=r"'q0' is in two groups, 'c' and 'b'.*groups may not overlap"):
        analyse(records, baseline="plain", design="clustered")

    assert analyse(records, baseline="plain", design="sampled").runs == 12


def test_one_group_is_no_clustered_design(make: ModuleType) -> None:
    with pytest.raises(DataError, match="needs questions of two groups at least"):
        analyse(runs(make, "plain", PLAIN), design="clustered")


def test_a_verdict_flips_when_crashed_runs_count(make: ModuleType) -> None:
    """An arm that crashes where it would fail looks better than it is; the report says so everywhere."""
    records = [
        *runs(make, "plain", dict.fromkeys("abcdef", "1111")),
        *runs(make, "docs", dict.fromkeys("abc", "1111") | {"d": "1xxx", "e": "x1xx", "f": "xx1x"}),
    ]
    report = analyse(records, baseline="plain")
    found = delta(report, "docs")

    assert [(each.policy, each.passes, each.flips) for each in found.policies] == [
        ("exclude", "no clear difference", False),
        ("failures", "lower", True),
        ("worst-case", "lower", True),
    ]
    assert found.flips
    assert report.changes[0] == (
        "The verdict on docs with codex flips when crashed runs count as failures and go against an arm."
    )
    assert any("it flips when they are counted otherwise" in line for line in report.do_not_claim)
    assert "| docs with codex | failures     |  -37.5 |               lower |" in render_markdown(report)
    assert report.losses is not None
    assert report.losses.uneven
    assert report.losses.worst == "docs"


def test_without_a_crash_nothing_flips(report: Report) -> None:
    assert not delta(report, "docs").flips
    assert len({each.passes for each in delta(report, "docs").policies}) == 1


def test_a_partial_result_has_no_verdict_and_groups_what_is_complete(make: ModuleType) -> None:
    records = [*runs(make, "plain", PLAIN), *runs(make, "docs", DOCS | {"c": "01"})]
    receipt = {
        "spec": {"arms": [{"name": "plain"}, {"name": "docs"}], "defaults": {"reps": 4}},
        "runs_expected": 24,
    }
    report = analyse(records, baseline="plain", receipt=receipt)
    passes = delta(report, "docs").passes

    assert report.state == "partial"
    assert passes is not None
    assert (passes.decision.verdict, passes.decision.warnings) == ("no verdict", ("partial",))
    assert {question.name for arm in report.groups for question in arm.groups} == {"a", "b"}
    assert report.incomplete_groups == 1
    assert delta(report, "docs").settle == ()


def test_capabilities_have_totals_and_no_score_over_them(make: ModuleType) -> None:
    """Arm > capability > question > variant; agents apart."""
    records = [
        record | {"capability": capability, "run_id": f"{capability}{index}", "agent": agent}
        for capability in ("reading", "writing")
        for agent in ("codex@m@low", "codex@m@high", "claude")
        for index, record in enumerate(runs(make, "plain", {"a": "1101"}))
    ]
    report = analyse(records)
    codex = next(group for group in report.groups if group.agent == "codex")

    assert [group.agent for group in report.groups] == ["claude", "codex"]
    assert codex.correct is None
    assert [(each.level, each.name, each.runs) for each in codex.groups] == [
        ("capability", "reading", 8),
        ("capability", "writing", 8),
    ]
    question = codex.groups[0].groups[0]
    assert (question.level, question.name, question.runs) == ("question", "a", 8)
    assert [(each.level, each.name, each.runs) for each in question.groups] == [
        ("variant", "codex@m@high", 4),
        ("variant", "codex@m@low", 4),
    ]
    assert "there is no score over all of them" in render_markdown(report)


def test_factors(make: ModuleType) -> None:
    """Changed factors beside the baseline, and levels averaged with their label."""
    arms = [
        {"name": "plain", "factors": {"docs": "no", "graph": "no"}},
        {"name": "docs", "factors": {"docs": "yes", "graph": "yes"}},
    ]
    records = [*runs(make, "plain", PLAIN), *runs(make, "docs", DOCS)]
    report = analyse(records, receipt={"spec": {"arms": arms}}, baseline="plain")
    found = delta(report, "docs")

    assert [(each.name, each.baseline, each.candidate) for each in found.factors] == [
        ("docs", "no", "yes"),
        ("graph", "no", "yes"),
    ]
    assert found.factor_warnings == ("several-factors",)
    assert any("changed together, so no single one" in line for line in report.notes)
    assert [(each.factor, each.level, round(each.mean, 4)) for each in report.factors] == [
        ("docs", "no", 0.75), ("docs", "yes", 0.8333), ("graph", "no", 0.75), ("graph", "yes", 0.8333),
    ]  # fmt: skip


def test_what_would_settle_it(report: Report) -> None:
    """Runs by the statistics, their price by the means so far."""
    passes = delta(report, "docs").passes
    assert passes is not None
    found = next(each for each in delta(report, "docs").settle if each.measure == "passes")
    interval = passes.interval
    needed = stats.runs_to_settle(interval.estimate, interval.estimate - interval.low, 0.0, 12).runs
    mean = sum(TOKENS) / 4 + 25

    assert needed is not None
    assert (found.runs_per_arm, found.more_runs) == (needed, 2 * (needed - 12))
    assert found.tokens == pytest.approx(2 * (needed - 12) * mean)


def test_several_results_are_compared_on_what_all_of_them_asked(make: ModuleType) -> None:
    """Two results of one trial: the second lacks a question."""
    first = [*runs(make, "plain", PLAIN), *runs(make, "docs", DOCS)]
    second = [record for record in first if record["question"] != "c"]
    report = analyse(first, second, baseline="plain")
    passes = delta(report, "docs").passes

    assert report.sources == 2
    assert passes is not None
    assert (passes.questions, passes.left_out) == (("a", "b"), ("c",))
    assert (passes.n_arm, passes.n_baseline) == (16, 16)


def test_the_frontier_compares_what_was_asked_alike(report: Report) -> None:
    places = {each.arm: each.quality.frontier for each in report.agents[0].arms if each.quality}

    assert all(
        place is not None and place.among == 2 and place.axes[-1] == "usd" for place in places.values()
    )
    assert places["docs"] is not None
    assert places["docs"].on


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"design": "random"}, "design is 'random', it must be one of curated, sampled, clustered"),
        ({"method": "magic"}, "method is 'magic', it must be one of"),
        ({"pass_k": [0]}, "pass-k is"),
        ({"minimum_trials": 0}, "minimum-trials is 0"),
        ({"regression_threshold": 1.5}, "regression-threshold is 1.5"),
    ],
)
def test_a_wrong_choice_is_told(make: ModuleType, choice: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        analyse(runs(make, "plain", PLAIN), **choice)


def test_paired_differences_by_the_bootstrap(make: ModuleType) -> None:
    """What a run costs, repetition against repetition, as one of the sources has it."""
    base, ours = [20_000, 22_000, 25_000, 19_000, 21_000], [12_000, 13_000, 11_000, 12_500, 30_000]
    records = [*make.series("q", "plain", "g", base), *make.series("q", "docs", "g", ours)]
    rows = [
        analyse(records, baseline="plain", method=method).agents[0].arms[1].delta
        for method in ("paired-bootstrap", "default")
    ]
    expected = stats.paired_bootstrap_delta(ours, base)

    assert all(rows)
    paired, ordinary = (row.tokens for row in rows if row)
    assert paired is not None
    assert (paired.estimate, paired.low, paired.high) == (expected.estimate, expected.low, expected.high)
    assert ordinary is not None
    assert ordinary.method == "welch"


def test_differences_and_what_can_be_seen_are_printed(make: ModuleType) -> None:
    """Of a run and of a success, with intervals; what is not known at all takes no place."""
    base, ours = [20_000, 22_000, 25_000, 19_000, 21_000], [12_000, 13_000, 11_000, 12_500, 13_500]
    records = [*make.series("q", "plain", "g", base), *make.series("q", "docs", "g", ours, seconds=20.0)]
    records[0] |= {"outcome": "failed"}
    report = analyse(records, baseline="plain")
    delta = report.agents[0].arms[1].delta
    assert delta is not None
    assert delta.tokens is not None
    assert delta.passes is not None
    text = render_markdown(report)

    assert "## Beside the baseline\n\n| arm  |" in text
    assert f"| docs | -{-delta.tokens.estimate / 1000:.2f} (-" in text
    assert "What a success costs, times the baseline's:\n\n| arm  |" in text
    assert f"| {100 * delta.passes.detectable:.1f} |" in text
    assert "- flaky with g, plain: q." in text
    silent = render_markdown(
        analyse([record | {"usage": None, "metered": None} for record in records], baseline="plain")
    )
    assert "k tokens a run" not in silent
    assert "seconds a run" in silent
