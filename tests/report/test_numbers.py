"""Each number of a report against a direct call of the statistics."""

from math import inf
from types import ModuleType

import pytest

import tiltyard_stats as stats
from tiltyard_report import Report, analyse, render_markdown
from tiltyard_report.model import ArmRow

PLAIN = [[120_000, 118_000, 125_000, 70_000, 65_000, 93_000], [20_000, 22_000, 25_000, 19_000]]
DOCS = [[62_000, 61_000, 57_000, 67_000, 52_000, 54_000], [12_000, 13_000, 11_000, 12_500]]


@pytest.fixture
def report(make: ModuleType) -> Report:
    """Two questions, two arms, one failure."""
    records = [
        *make.series("a", "plain", "codex", PLAIN[0]),
        *make.series("b", "plain", "codex", PLAIN[1]),
        *make.series("a", "docs", "codex", DOCS[0], used_tool=True),
        *make.series("b", "docs", "codex", DOCS[1], used_tool=False),
    ]
    records[0] |= {"outcome": "failed", "turns": 9, "seconds": 50.0}
    return analyse(records, baseline="plain", confidence=0.9)


def row(report: Report, arm: str) -> ArmRow:
    """One arm with the only agent."""
    return next(row for row in report.agents[0].arms if row.arm == arm)


def test_rates(report: Report) -> None:
    """Correct and used tool are Wilson's; compared as text, where NaN equals NaN."""
    assert repr(row(report, "plain").correct.interval) == repr(stats.wilson(9, 10, confidence=0.9))
    assert row(report, "plain").used_tool is None
    used = row(report, "docs").used_tool
    assert used is not None
    assert (used.successes, used.n) == (6, 10)
    assert repr(used.interval) == repr(stats.wilson(6, 10, confidence=0.9))


def test_means(report: Report) -> None:
    """Tokens, turns and seconds are stratified means."""
    for arm, cells in (("plain", PLAIN), ("docs", DOCS)):
        expected = stats.stratified_mean(cells, confidence=0.9, bounds=(0, inf))
        assert row(report, arm).tokens.interval == expected
    turns = row(report, "plain").turns.interval
    assert turns == stats.stratified_mean([[9, 4, 4, 4, 4, 4], [4] * 4], confidence=0.9, bounds=(0, inf))


def test_relative_cost(report: Report) -> None:
    """Ratio, p value and verdict are those of the statistics."""
    comparison = row(report, "docs").relative_tokens
    assert comparison is not None
    ratio = stats.cost_ratio_stratified(DOCS, PLAIN, confidence=0.9)
    pvalue = stats.cost_ratio_test(DOCS, PLAIN).pvalue

    assert comparison.ratio == ratio
    assert (comparison.pvalue, comparison.adjusted) == (pvalue, pvalue)
    assert comparison.decision == stats.token_verdict(ratio, n_arm=10, n_baseline=10, pvalue=pvalue)
    usd = row(report, "docs").relative_usd
    assert usd is not None
    assert usd.ratio is not None
    assert usd.ratio.estimate == pytest.approx(ratio.estimate)


def test_spread(report: Report) -> None:
    """The cv is pooled within questions and arms, and the runs follow from it unrounded."""
    spread = stats.cv([*PLAIN, *DOCS])
    line = report.spread[0]

    assert line.spread is not None
    assert line.spread.cv == pytest.approx(spread.cv)
    assert line.needed is not None
    assert line.needed.runs == stats.runs_per_arm(spread.cv).runs
    assert line.cautious is not None
    assert line.cautious.runs == stats.runs_per_arm(spread.cv * stats.pilot_factor(spread.df)).runs


def test_questions(report: Report) -> None:
    """The table by question holds plain means of its cell."""
    cells = {(line.question, cell.arm): cell for line in report.questions for cell in line.cells}

    for (question, arm), values in {("a", "plain"): PLAIN[0], ("b", "docs"): DOCS[1]}.items():
        assert cells[question, arm].tokens.interval == stats.mean_interval(
            values, confidence=0.9, bounds=(0, inf), claim="these questions"
        )


def test_printed_digits(report: Report) -> None:
    """What the Markdown prints is what the statistics say, rounded."""
    text = " ".join(render_markdown(report).replace("( ", "(").split())
    ratio = stats.cost_ratio_stratified(DOCS, PLAIN, confidence=0.9)
    mean = stats.stratified_mean(PLAIN, confidence=0.9)
    rate = stats.wilson(9, 10, confidence=0.9)

    assert f"{ratio.estimate:.2f}x ({ratio.low:.2f} to {ratio.high:.2f})" in text
    assert f"{mean.estimate / 1000:.1f} ({mean.low / 1000:.1f} to {mean.high / 1000:.1f})" in text
    assert f"9/10 ({100 * rate.low:.0f} to {100 * rate.high:.0f}%)" in text


def test_holm_over_the_report(make: ModuleType) -> None:
    """Three comparisons: a difference that is clear alone is not clear among them, and the report says so."""
    base = [20_000, 22_000, 25_000, 19_000, 21_000, 23_000, 20_500, 22_500]
    records = [*make.series("a", "plain", "codex", base)]
    for arm, shift in (("one", 2_400), ("two", 100), ("three", 200)):
        records += make.series("a", arm, "codex", [value + shift for value in base])
    report = analyse(records, baseline="plain")
    compared = {row.arm: row.relative_tokens for row in report.agents[0].arms if row.relative_tokens}
    raw = [stats.cost_ratio_test([[v + s for v in base]], [base]).pvalue for s in (2_400, 100, 200)]

    assert raw[0] < 0.05
    assert [compared[arm].adjusted for arm in ("one", "two", "three")] == pytest.approx(
        stats.holm(raw).tolist()
    )
    decision = compared["one"].decision
    assert decision is not None
    assert decision.warnings == ("multiplicity",)
    assert "no clear difference (after correction)" in render_markdown(report)
    assert any("3 comparisons (Holm)" in line for line in report.methods)


def test_order_of_records_does_not_matter(trials: ModuleType) -> None:
    """Merged in any order, the report is the same to the letter."""
    arguments = trials.two_agents()
    backwards = arguments | {"records": arguments["records"][::-1]}

    assert render_markdown(analyse(**arguments)) == render_markdown(analyse(**backwards))
