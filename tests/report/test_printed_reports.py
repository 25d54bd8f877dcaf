"""The worked examples of the systems that Tiltyard unites, reproduced through the report.

Where a system prints by a method that is not our default, `method` asks for it. What a gate prints is made
from the report's interval by the rule of that gate, or by the function that sizes it.
"""

import random
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist, mean, stdev
from types import ModuleType
from typing import Any

import pytest

from tiltyard_report import Report, analyse
from tiltyard_report.delta_model import Delta
from tiltyard_report.model import ArmRow
from tiltyard_stats import Interval, stratified_test, visible_drop
from tiltyard_stats.gates.differences import no_regression


def arm(report: Report, name: str) -> ArmRow:
    """One arm with the only agent."""
    return next(row for row in report.agents[0].arms if row.arm == name)


def printed(interval: Interval | None, form: str = ".1f", scale: float = 100) -> str:
    """Estimate and bounds as they are printed."""
    assert interval is not None
    return " ".join(format(scale * value, form) for value in (interval.estimate, interval.low, interval.high))


def outcomes(make: ModuleType, name: str, table: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Records of an arm from its outcomes: one row per repetition, one column per question."""
    ends = {0: "failed", 1: "passed"}
    return [
        make.record(f"q{case:03}", name, "agent", rep, 1000, outcome=ends[passed], score=None)
        for rep, row in enumerate(table, 1)
        for case, passed in enumerate(row)
    ]


RUNS_OF_S = [[1] * 40 + [1] * 8 + [0] * 52, [1] * 40 + [0] * 8 + [0] * 52]
"""100 cases, two runs: 40 always pass, 8 pass in the first run alone."""


def test_compare_of_r(make: ModuleType) -> None:
    """0.70x (0.52 to 1.00): both sides resampled, every resample listed."""
    records = [
        *make.series("a", "old", "g", [33, 33, 50, 73]),
        *make.series("a", "new", "g", [33, 33, 33, 33]),
    ]
    comparison = arm(analyse(records, baseline="old", method="source-compare"), "new").relative_tokens

    assert comparison is not None
    assert printed(comparison.ratio, ".2f", 1) == "0.70 0.52 1.00"


def test_report_of_r(make: ModuleType) -> None:
    """1.18 (0.84 to 1.52): relative costs pooled over questions, the baseline's mean held fixed."""
    records = [
        *make.series("a", "plain", "g", [87]),
        *make.series("b", "plain", "g", [48]),
        *make.series("a", "docs", "g", [73]),
        *make.series("b", "docs", "g", [73]),
    ]
    comparison = arm(analyse(records, baseline="plain", method="source"), "docs").relative_tokens

    assert comparison is not None
    assert printed(comparison.ratio, ".2f", 1) == "1.18 0.84 1.52"


@pytest.mark.parametrize(("cv", "runs"), [(0.338, 45), (0.34, 46), (0.26, 27)])
def test_runs_needed_of_r(make: ModuleType, cv: float, runs: int) -> None:
    """A spread that prints as 0.34 needs 45 or 46 runs: the unrounded one decides."""
    half = cv * 10_000_000 / 2**0.5
    pair = [round(10_000_000 - half), round(10_000_000 + half)]
    records = [
        *make.series("a", "plain", "g", [10_000_000, 10_000_000]),
        *make.series("a", "docs", "g", pair),
    ]
    row = analyse(records, baseline="plain", method="source").spread[0]

    assert row.needed is not None
    assert row.needed.runs == runs


def test_spread_of_r(make: ModuleType) -> None:
    """Pooled over questions, whose difference counts as noise of the runs: a flaw that our default lacks."""
    records = [
        record
        for question, plain, docs in (("a", 87_000, 73_000), ("b", 48_000, 73_000))
        for record in (
            *make.series(question, "plain", "g", [plain] * 2),
            *make.series(question, "docs", "g", [docs] * 2),
        )
    ]
    theirs = analyse(records, baseline="plain", method="source").spread[0].spread
    ours = analyse(records, baseline="plain").spread[0].spread
    relative = [73 / 87, 73 / 87, 73 / 48, 73 / 48]

    assert theirs is not None
    assert ours is not None
    assert theirs.cv == pytest.approx(stdev(relative) / mean(relative))
    assert ours.cv == 0


def test_drop_of_r(make: ModuleType) -> None:
    """4/4 to 0/4: one-sided p = 0.01, which is 1 in 70."""
    records = [
        *outcomes(make, "old", [[1]] * 4),
        *outcomes(make, "new", [[0]] * 4),
    ]
    delta = arm(analyse(records, baseline="old"), "new").delta

    assert delta is not None
    assert delta.passes is not None
    assert delta.passes.p_drop == pytest.approx(1 / 70)


def test_pass_rate_and_shock_of_s(make: ModuleType) -> None:
    """44.0% (41.2 to 46.8); runs differ 8.0x as much, p = 0.005; over runs 0.0 to 94.8."""
    report = analyse(outcomes(make, "only", RUNS_OF_S), method="source")
    rate = arm(report, "only").quality

    assert rate is not None
    assert rate.rate is not None
    assert printed(rate.rate.interval) == "44.0 41.2 46.8"
    assert (f"{rate.rate.shock_ratio:.1f}", f"{rate.rate.shock_pvalue:.3f}") == ("8.0", "0.005")
    assert printed(rate.rate.over_runs) == "44.0 0.0 94.8"
    assert any("differ 8.0x as much" in line and "0.0 to 94.8%" in line for line in report.notes)
    assert (rate.always, rate.never, rate.flaky) == (40, 52, 8)


def test_repeats_of_s(make: ModuleType) -> None:
    """pass@1 34.5-53.5, pass@2 48 (38-58), pass^2 40 (30-50), to a point: the bootstrap has a seed."""
    report = analyse(outcomes(make, "only", RUNS_OF_S), method="source", pass_k=[1, 2])
    quality = arm(report, "only").quality
    assert quality is not None
    one, two = quality.repeats

    for rate, expected in (
        (one.at_least_one, (0.44, 0.345, 0.535)),
        (two.at_least_one, (0.48, 0.38, 0.58)),
        (two.every, (0.40, 0.30, 0.50)),
    ):
        assert (rate.estimate, rate.low, rate.high) == pytest.approx(expected, abs=0.0101)


def test_repeats_of_l(make: ModuleType) -> None:
    """A pass@1 of 90% is a pass^6 of 53%, for one case with many runs."""
    report = analyse(outcomes(make, "only", [[1]] * 900 + [[0]] * 100), method="source", pass_k=[1, 6])
    quality = arm(report, "only").quality
    assert quality is not None
    one, six = quality.repeats

    assert (f"{one.at_least_one.estimate:.0%}", f"{six.every.estimate:.0%}") == ("90%", "53%")


def comparison_of_s(make: ModuleType) -> Delta:
    """7 and 6 discordant cases of 100, one run a side."""
    old = [1] * 50 + [0] * 50
    new = [0] * 6 + [1] * 44 + [1] * 7 + [0] * 43
    records = [*outcomes(make, "old", [old]), *outcomes(make, "new", [new])]
    delta = arm(analyse(records, baseline="old"), "new").delta
    assert delta is not None
    return delta


def test_runs_to_settle_of_s(make: ModuleType) -> None:
    """About 6 runs settle +1.0 (-6.2 to +8.2) at a margin of 2 points: the gate on the report's interval."""
    passes = comparison_of_s(make).passes
    assert passes is not None
    outcome = no_regression(passes.interval, 0.02, runs=1)

    assert (outcome.verdict, outcome.runs) == ("INCONCLUSIVE", 6)


def test_small_sample_correction_of_s(make: ModuleType) -> None:
    """N/(N-1) takes false alarms of a drop gate from 6.8 to 5.8%: the report's test has it, and is exact.

    Its normal limit is the corrected z; the rates themselves are simulated where the gates are tested.
    """
    source = random.Random(4)  # noqa: S311 - made-up outcomes
    rates = [source.betavariate(0.5, 0.5) for _ in range(114)]
    new, old = ([[int(source.random() < rate) for rate in rates] for _ in range(reps)] for reps in (2, 4))
    records = [*outcomes(make, "new", new), *outcomes(make, "old", old)]
    delta = arm(analyse(records, baseline="old"), "new").delta
    assert delta is not None
    assert delta.passes is not None
    passed = [
        (sum(ours), sum(theirs))
        for ours, theirs in zip(zip(*new, strict=True), zip(*old, strict=True), strict=True)
    ]
    plain = sum((a + b) * (6 - a - b) / 36 * (1 / 2 + 1 / 4) for a, b in passed)
    z = sum(a / 2 - b / 4 for a, b in passed) / (plain * 6 / 5) ** 0.5
    exact = stratified_test([a for a, _ in passed], 2, [b for _, b in passed], 4)

    assert exact.cmh_statistic == pytest.approx(z**2)
    assert delta.passes.p_drop == exact.p_drop
    assert delta.passes.midp == pytest.approx(2 * NormalDist().cdf(-abs(z)), abs=0.02)


def test_smoke_tier_of_s(make: ModuleType) -> None:
    """20 cases on one run see drops of about 40 points; a report of so few says that it sees no less."""
    records = [*outcomes(make, "old", [[1, 0] * 10]), *outcomes(make, "new", [[0, 1] * 5 + [1, 0] * 5])]
    delta = arm(analyse(records, baseline="old"), "new").delta
    assert delta is not None
    assert delta.passes is not None

    assert f"{100 * visible_drop(20, 1):.0f}" == "39"
    assert delta.passes.detectable > 0.39


def test_comparison_of_s(make: ModuleType) -> None:
    """+1.0 (-6.2 to +8.2), p = 1, and 10.2 points can be seen: 7 and 6 discordant cases of 100."""
    delta = comparison_of_s(make)
    passes = delta.passes

    assert passes is not None
    assert printed(passes.interval, "+.1f") == "+1.0 -6.2 +8.2"
    assert passes.pvalue == 1.0
    assert f"{100 * passes.detectable:.1f}" == "10.2"
    assert (len(delta.regressed), len(delta.improved)) == (6, 7)


@pytest.mark.parametrize(
    ("passed", "n", "confidence", "expected"),
    [(58, 228, 0.90, "25.4 21.0 30.5"), (32, 61, 0.95, "52.5 40.2 64.5")],
)
def test_lookup_rates_of_s(make: ModuleType, passed: int, n: int, confidence: float, expected: str) -> None:
    """25.4% (21.0-30.5) at 90%, 52.5% (40.2-64.5) at 95%."""
    records = outcomes(make, "only", [[1] * passed + [0] * (n - passed)])
    correct = arm(analyse(records, confidence=confidence), "only").correct

    assert printed(correct.interval) == expected


def test_the_default_is_not_the_source(make: ModuleType) -> None:
    """The calibrated interval is wider here, and the report names the method that it was told to use."""
    records = outcomes(make, "only", RUNS_OF_S)
    ours, theirs = analyse(records), analyse(records, method="source")
    intervals = [arm(report, "only").quality for report in (ours, theirs)]
    bounds = [each.rate.interval for each in intervals if each and each.rate]

    assert all(wide.high - wide.low > narrow.high - narrow.low for wide, narrow in pairwise(bounds))
    assert any("--method source" in line for line in theirs.methods)
    assert not any("--method" in line for line in ours.methods)
