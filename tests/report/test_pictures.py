"""Pictures: what they claim, that they are the same each time, and that a name in them stays a name."""

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tiltyard_report import analyse
from tiltyard_report.pictures import Picture, draw, picture_numbers
from tiltyard_stats import pareto, pass_at_k, pass_hat_k

Draw = Callable[..., dict[str, Picture]]


@pytest.fixture(scope="module")
def drawn() -> Draw:
    """The pictures of a trial, by key."""
    known: dict[str, dict[str, Picture]] = {}

    def make(trials: ModuleType, name: str) -> dict[str, Picture]:
        if name not in known:
            report = analyse(**trials.ALL[name]())
            known[name] = {picture.key: picture for picture in draw(picture_numbers(report), report)}
        return known[name]

    return make


@pytest.mark.slow
def test_each_trial_can_be_drawn(trials: ModuleType, drawn: Draw) -> None:
    """Every picture is well-formed, asks for nothing outside, and says the same in a table."""
    for name in (
        "two_agents",
        "unhealthy",
        "unknown_cost",
        "one_arm",
        "all_lost",
        "cut_off",
        "hostile",
        "empty",
    ):
        for picture in drawn(trials, name).values():
            ET.fromstring(picture.svg)  # noqa: S314 - our own text
            assert not re.search(r"https?:|<image|<script|@import", picture.svg), (name, picture.key)
            assert picture.grid.rows, (name, picture.key)
            assert all(len(row) == len(picture.grid.head) for row in picture.grid.rows)
            assert picture.title
            assert picture.description


@pytest.mark.slow
def test_all_pictures_are_there(trials: ModuleType, drawn: Draw) -> None:
    assert list(drawn(trials, "two_agents")) == [
        "forest-tokens", "forest-passes", "heatmap", "repeats", "trade", "settled", "course",
    ]  # fmt: skip


@pytest.mark.slow
def test_titles_keep_to_the_verdicts_of_the_report(trials: ModuleType, drawn: Draw) -> None:
    """A clear difference is called one, no other is; a partial trial gets none."""
    whole, partial = drawn(trials, "two_agents"), drawn(trials, "partial")

    assert "docs with codex: 0.56x (0.48 to 0.66), cheaper" in whole["forest-tokens"].title
    assert "docs with claude: 1.03x (0.85 to 1.24), no clear difference" in whole["forest-tokens"].title
    assert "no clear difference" in whole["forest-passes"].title
    assert "no verdict" in partial["forest-tokens"].title
    assert "cheaper" not in partial["forest-tokens"].title


@pytest.mark.slow
def test_no_ratio_is_drawn_where_tokens_are_not_fully_known(trials: ModuleType, drawn: Draw) -> None:
    """The arms of `cut_off` have calls of unknown usage."""
    pictures = drawn(trials, "cut_off")

    assert "forest-tokens" not in pictures
    assert "settled" not in pictures or "hang" not in str(pictures["settled"].grid.rows)


@pytest.mark.slow
def test_names_are_shown_and_never_obeyed(trials: ModuleType, drawn: Draw) -> None:
    """Hostile names keep to one line, are no markup and no mathematics."""
    for picture in drawn(trials, "hostile").values():
        for text in (picture.title, picture.description):
            assert not re.search("[\x00-\x1f\u202a-\u202e\u2066-\u2069]", text)
        drawn_texts = "".join(ET.fromstring(picture.svg).itertext())  # noqa: S314 - our own text
        assert "\x1b" not in drawn_texts
        assert "\u202e" not in drawn_texts


def test_the_heatmap_marks_what_is_flaky(trials: ModuleType) -> None:
    report = analyse(**trials.two_agents())
    cells = {(cell.agent, cell.arm, cell.question): cell for cell in picture_numbers(report).cells}

    assert cells["codex", "plain", "inherit"].flaky
    assert not cells["claude", "plain", "inherit"].flaky
    assert (cells["codex", "plain", "inherit"].passes, cells["codex", "plain", "inherit"].n) == (4, 5)


def test_curves_are_those_of_the_statistics(trials: ModuleType) -> None:
    """Over all attempts that each question has, not only the ones that were asked for."""
    report = analyse(**trials.two_agents())
    curve = next(
        curve for curve in picture_numbers(report).curves if (curve.agent, curve.arm) == ("codex", "docs")
    )
    cells = [
        next(cell for cell in row.cells if (cell.agent, cell.arm) == ("codex", "docs")).correct
        for row in report.questions
    ]
    passes, runs = [cell.successes for cell in cells], [cell.n for cell in cells]

    assert [rate.k for rate in curve.at] == list(range(1, min(runs) + 1))
    assert repr(curve.at) == repr(tuple(pass_at_k(passes, runs, rate.k) for rate in curve.at))
    assert repr(curve.hat) == repr(tuple(pass_hat_k(passes, runs, rate.k) for rate in curve.hat))


def test_the_frontier_is_in_cost_and_pass_rate(trials: ModuleType) -> None:
    trade = picture_numbers(analyse(**trials.two_agents())).trade
    assert trade is not None
    own = [point for point in trade.points if point.agent == "codex"]
    expected = pareto([[point.rate.estimate, point.cost.estimate] for point in own], [True, False]).frontier

    assert trade.unit == "USD"
    assert [place for place, point in enumerate(own) if point.frontier] == list(expected)


def test_arms_of_unknown_cost_are_left_out_and_named(trials: ModuleType) -> None:
    trade = picture_numbers(analyse(**trials.cut_off())).trade
    assert trade is not None

    assert {point.arm for point in trade.points} == {"plain"}
    assert trade.left_out == ("hang with codex", "map with codex")


@pytest.mark.slow
def test_the_same_report_gives_the_same_bytes(trials: ModuleType, drawn: Draw) -> None:
    report = analyse(**trials.two_agents())
    again: dict[str, Any] = {picture.key: picture for picture in draw(picture_numbers(report), report)}

    assert again == drawn(trials, "two_agents")


@pytest.mark.slow
def test_an_arm_has_one_colour_in_all_pictures(make: ModuleType) -> None:
    """Also where the baseline, or an arm of unknown cost, is not drawn."""
    rows = []
    for arm, factor in (("plain", 1.0), ("docs", 0.6), ("graph", 1.4)):
        tokens = [int(value * factor) for value in (20_000, 22_000, 25_000, 19_000)]
        rows += make.series("q", arm, "g", tokens) + make.series("r", arm, "g", tokens)
    # The cost of docs is not fully known.
    rows[8] |= {"usage": None, "metered": None}
    report = analyse(rows, baseline="plain")
    pictures = {picture.key: picture.svg for picture in draw(picture_numbers(report), report)}
    used = {key: set(re.findall(r"--s(\d)\b", svg)) for key, svg in pictures.items()}

    assert used["repeats"] == {"1", "2", "3"}
    assert used["forest-passes"] == {"2", "3"}
    assert used["forest-tokens"] == {"2", "3"}
    assert used["settled"] == {"3"}
    assert used["trade"] == {"1", "3"}
