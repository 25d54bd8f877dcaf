"""Drift along the order of the runs: found where it was planted, nowhere else, and never in the mix."""

import random
from types import ModuleType
from typing import Any

import pytest

from tiltyard_report import Report, analyse, render_markdown
from tiltyard_report._table import escape
from tiltyard_report.pictures import draw, picture_numbers


def trial(make: ModuleType, *, growth: float = 0.0, fall: float = 0.0, apart: bool = False) -> Report:
    """Four questions, two arms, ten repetitions; tokens grow and passes fall by so much to the last run."""
    source = random.Random(5)  # noqa: S311 - made-up numbers
    cells = [(q, arm, rep) for rep in range(10) for q in range(4) for arm in ("plain", "docs")]
    if apart:
        cells.sort(key=lambda cell: cell[1])
    records: list[dict[str, Any]] = []
    for position, (question, arm, rep) in enumerate(cells):
        time = position / (len(cells) - 1)
        tokens = int(10_000 * (1 + question) * (1 + growth * time) * source.lognormvariate(0, 0.2))
        passed = source.random() < 0.9 - fall * time
        records.append(
            make.record(
                f"q{question}", arm, "codex", rep + 1, tokens, position=position,
                outcome="passed" if passed else "failed", score=None,
            )
        )  # fmt: skip
    return analyse(records, baseline="plain")


def title(report: Report) -> str:
    """Of the picture of order and time."""
    return next(each.title for each in draw(picture_numbers(report), report) if each.key == "course")


@pytest.mark.slow
def test_planted_growth_is_told_and_drawn(make: ModuleType) -> None:
    """In the notes and as the picture's title, with its size and what it means for the comparison."""
    report = trial(make, growth=0.8)
    tokens, passes = report.drift

    assert tokens.drifted
    assert tokens.change.low < 1.8 < tokens.change.high
    assert not passes.drifted
    note = next(line for line in report.notes if "drift" in line)
    assert note.startswith(f"codex: tokens moved by +{100 * (tokens.change.estimate - 1):.0f}% (")
    assert "that is drift. The arms ran side by side" in note
    assert title(report) == note
    assert f"- {escape(note)}" in render_markdown(report)
    assert report.alerts == ()


@pytest.mark.slow
def test_without_drift_none_is_told(make: ModuleType) -> None:
    report = trial(make)

    assert not any(row.drifted for row in report.drift)
    assert not any("drift" in line for line in report.notes)
    assert title(report).startswith("No drift is seen. Nearest to it: codex: ")


def test_passes_that_fall_are_drift(make: ModuleType) -> None:
    row = trial(make, fall=0.8).drift[1]

    assert row.drifted
    assert row.change.high < -0.3


def test_arms_that_ran_one_after_the_other_are_warned_of(make: ModuleType) -> None:
    """Then drift looks like the doing of an arm."""
    report = trial(make, growth=2.0, apart=True)

    assert report.drift[0].apart
    assert any("WARNING: codex: tokens" in line and "may be its doing" in line for line in report.alerts)


def test_dear_questions_at_the_end_are_no_drift(make: ModuleType) -> None:
    """Nor are their stretches drawn as if something had changed."""
    records = [
        make.record(f"q{q}", arm, "codex", rep, 10_000 * (1 + 9 * q) + 100 * rep % 300, position=20 * q + rep)
        for q in range(2)
        for arm in ("plain", "docs")
        for rep in range(1, 11)
    ]
    report = analyse(records, baseline="plain")

    assert not any(row.drifted for row in report.drift)
    assert all(part.relative_tokens == pytest.approx(1, abs=0.05) for part in report.order)


def test_agents_without_tokens_are_seen_by_their_time(make: ModuleType) -> None:
    """As text agents are; what cannot be tested says so."""
    rows = [
        make.record(
            "q", arm, "probe", rep, None, kind="text", position=rep, seconds=10.0 * 1.3**rep + rep % 2
        )
        for arm in ("plain", "docs")
        for rep in range(1, 7)
    ]
    report, single = analyse(rows, baseline="plain"), analyse(rows[:1])

    assert [(row.quantity, row.drifted) for row in report.drift] == [("seconds", True), ("passes", False)]
    assert title(report).startswith("probe: seconds moved by +")
    assert [row.drifted for row in single.drift] == [False, False]
