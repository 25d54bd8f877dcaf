"""Lost runs are counted by arm, and tested: an arm that loses its hard runs looks better than it is."""

from types import ModuleType
from typing import Any

import pytest
from scipy.stats import fisher_exact

from tiltyard_report import analyse, render_markdown
from tiltyard_report.model import Report


def _report(make: ModuleType, **arms: tuple[int, int]) -> Report:
    """Arms with so many lost runs of so many."""
    records: list[Any] = []
    for arm, (lost, total) in arms.items():
        records += [
            make.record("q", arm, "codex", rep, outcome="infra" if rep <= lost else "passed", reason="529")
            for rep in range(1, total + 1)
        ]
    return analyse(records, baseline="plain")


def test_an_arm_that_lost_more_than_chance_explains(make: ModuleType) -> None:
    report = _report(make, plain=(0, 20), docs=(8, 20))
    pvalue = fisher_exact([[0, 20], [8, 12]]).pvalue
    (line,) = [line for line in report.alerts if "by arm" in line]

    assert line == (
        "WARNING: lost runs (infra, unmetered) by arm: docs 8 of 20, plain 0 of 20 "
        f"(Fisher's exact test, p={pvalue:.3f}): docs lost more than chance explains, "
        "so the runs that are left may not be a fair sample of it."
    )


def test_a_loss_that_chance_explains_is_a_note(make: ModuleType) -> None:
    report = _report(make, plain=(0, 20), docs=(1, 20))

    assert not any("by arm" in line for line in report.alerts)
    assert (
        "Lost runs (infra, unmetered) by arm: docs 1 of 20, plain 0 of 20 "
        "(Fisher's exact test, p=1.000): no sign that the arm has to do with it."
    ) in report.notes


@pytest.mark.parametrize("lost", [0, 3])
def test_arms_that_lost_alike_need_no_word(make: ModuleType, lost: int) -> None:
    report = _report(make, plain=(lost, 20), docs=(lost, 20))

    assert not any("by arm" in line for line in (*report.alerts, *report.notes))


def test_among_many_arms_one_must_stand_out_further(make: ModuleType) -> None:
    """The worst of six is compared with the rest: the chance that some arm is the worst counts six times."""
    two = _report(make, plain=(0, 12), a=(4, 12))
    six = _report(make, plain=(0, 12), a=(4, 12), b=(1, 12), c=(1, 12), d=(2, 12), e=(1, 12))

    assert any("by arm" in line for line in (*two.alerts, *two.notes))
    assert not any("by arm" in line for line in six.alerts)


def test_excluded_runs_are_out_of_the_pass_rate_and_counted(make: ModuleType) -> None:
    report = _report(make, plain=(0, 20), docs=(8, 20))
    rows = {row.arm: row for row in report.agents[0].arms}

    assert (rows["docs"].correct.successes, rows["docs"].correct.n, rows["docs"].excluded) == (12, 12, 8)


def _lossy(make: ModuleType) -> Report:
    """Docs lost 8 of its 20 runs on one question, and 4 of the other 12 failed; plain passed 10 of 20."""
    ends = {
        "plain": ["passed"] * 10 + ["failed"] * 10,
        "docs": ["infra"] * 8 + ["passed"] * 8 + ["failed"] * 4,
    }
    records = [
        make.record("q", arm, "codex", rep, 10_000, outcome=end, reason=None)
        for arm, outcomes in ends.items()
        for rep, end in enumerate(outcomes, 1)
    ]
    attempts = [make.record("q", "docs", "codex", 1, 30_000, outcome="infra", reason="529", attempt=1)]
    return analyse(records, baseline="plain", attempts=attempts)


def test_bounds_stand_instead_of_a_point(make: ModuleType) -> None:
    """8 to 16 of 20 may have passed beside 10 of 20: -10 to +30 points, by Manski; the noise is outside."""
    report = _lossy(make)
    (delta,) = [row.delta for row in report.agents[0].arms if row.delta]
    bounds = delta.bounds
    assert bounds is not None

    assert (bounds.low, bounds.high) == pytest.approx((8 / 20 - 0.5, 16 / 20 - 0.5))
    assert bounds.outer_low < bounds.low < bounds.high < bounds.outer_high
    assert (bounds.lost_arm, bounds.lost_baseline) == (8, 0)
    text = render_markdown(report)
    assert "| bounds -10.0 to +30.0 |" in text
    assert "no clear difference (runs lost unevenly)" in text
    assert (
        "docs with codex: wherever the crashed runs (8 against 0) would have ended, the difference is "
        "-10.0 to +30.0 points ("
    ) in text


def test_the_first_sentence_gives_the_bounds_too(make: ModuleType) -> None:
    """Where it speaks of passes."""
    ends = {
        "plain": ["passed"] * 10 + ["failed"] * 10,
        "docs": ["infra"] * 8 + ["passed"] * 8 + ["failed"] * 4,
    }
    records = [
        make.record("q", arm, "probe", rep, None, kind="text", outcome=end, reason=None)
        for arm, outcomes in ends.items()
        for rep, end in enumerate(outcomes, 1)
    ]
    headline = analyse(records, baseline="plain").headline

    assert headline.startswith(
        "docs passes -10.0 to +30.0 points more often than plain with probe, wherever the lost runs would "
        "have ended: no clear difference (runs lost unevenly)"
    )


def test_a_point_stands_where_losses_are_even(make: ModuleType) -> None:
    report = _report(make, plain=(1, 20), docs=(0, 20))
    (delta,) = [row.delta for row in report.agents[0].arms if row.delta]

    assert delta.bounds is not None
    assert "bounds -" not in render_markdown(report)


def test_a_success_with_and_without_what_was_lost(make: ModuleType) -> None:
    """Without: 12 runs over 8 passes. With: 20 runs and an attempt of three times the tokens."""
    report = _lossy(make)
    quality = report.agents[0].arms[1].quality
    assert quality is not None
    assert quality.tokens_per_success is not None

    assert quality.tokens_per_success.estimate == pytest.approx(12 * 10_000 / 8)
    assert quality.all_tokens_per_success == pytest.approx((20 * 10_000 + 30_000) / 8)
    assert quality.all_usd_per_success == pytest.approx(230_000 * 2e-6 / 8)
    assert (quality.lost, quality.all_unknown) == (9, 0)
    assert "- docs with codex: 28.8k tokens, $0.0575 (with 9 more runs)." in render_markdown(report)


def test_losses_that_have_to_do_with_the_question(make: ModuleType) -> None:
    """A question that breaks the engine is named; one that does not is left in peace."""
    records = [
        make.record(
            f"q{number}",
            arm,
            "codex",
            rep,
            outcome="infra" if number == 0 and rep <= 6 else "passed",
            reason=None,
        )
        for number in range(5)
        for arm in ("plain", "docs")
        for rep in range(1, 9)
    ]
    report = analyse(records, baseline="plain")
    found = report.question_loss
    assert found is not None

    assert (found.question, found.lost, found.runs, found.rest_lost, found.rest_runs) == ("q0", 12, 16, 0, 64)
    assert found.pvalue == pytest.approx(5 * fisher_exact([[12, 4], [0, 64]], alternative="greater").pvalue)
    assert any(
        line.startswith("Lost runs (infra, unmetered) by question: q0 12 of 16, all") for line in report.notes
    )
    assert not any("by question" in line for line in _report(make, plain=(0, 20), docs=(8, 20)).notes)
