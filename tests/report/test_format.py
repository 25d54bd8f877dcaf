"""Numbers as printed: no false zero, no false one, no false certainty."""

from collections import Counter
from math import nan

import pytest

from tiltyard_report import _format as fmt
from tiltyard_report._table import code, table
from tiltyard_stats import Interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0004, "<0.001"),
        (0.123, "0.123"),
        (1.234, "1.23"),
        (12.34, "12.3"),
        (1234.5, "1,234"),
        (nan, fmt.NONE),
    ],
)
def test_significant(value: float, text: str) -> None:
    """Three digits where they matter."""
    assert fmt.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.50"),
        (1.0, "1.00"),
        (0.998, "0.998"),
        (1.00004, "1.00004"),
        (0.012, "0.0120"),
        (5000, "over 1,000"),
    ],
)
def test_factor(value: float, text: str) -> None:
    """A bound beside 1 keeps its side."""
    assert fmt.factor(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.001, "<1"), (0.5, "50"), (0.999, ">99"), (1, "100")]
)
def test_percent(value: float, text: str) -> None:
    """Neither 0 nor 100 for what is not."""
    assert fmt.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "$0.00"), (0.00001, "<$0.0001"), (0.0123, "$0.0123"), (0.5, "$0.50"), (1234, "$1,234.00")],
)
def test_dollars(value: float, text: str) -> None:
    """Small spend is not nothing."""
    assert fmt.dollars(value) == text


def test_unknown_bounds() -> None:
    """A missing interval says why."""
    alone = Interval(5.0, nan, nan, 0.95, "t", 1, "these runs", ("n<2",))

    assert fmt.intervals([alone, None], fmt.significant) == ["5.00 (1 run)", "unknown"]


def test_intervals_line_up() -> None:
    """The same place of each number stands in the same column."""
    items = [Interval(9.93, 6.72, 13.1, 0.95, "t", 4, "these"), Interval(116, 90, 142, 0.95, "t", 4, "these")]
    show = fmt.alike(item.estimate for item in items)

    assert fmt.intervals(items, show, "x") == ["  9.9x ( 6.7 to  13.1)", "116.0x (90.0 to 142.0)"]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([16.7, 9.93], ["16.7", "9.9"]),
        ([104.2, 21.5], ["104", "22"]),
        ([104.2, 0.012], ["104.200", "0.012"]),
        ([2.5, 0.0], ["2.50", "0.00"]),
        ([], []),
    ],
)
def test_a_column_has_one_number_of_decimals(values: list[float], texts: list[str]) -> None:
    """As many as its largest number needs, more where its smallest would lose its digits."""
    show = fmt.alike(values)

    assert [show(value) for value in values] == texts


def test_most_frequent() -> None:
    """The commonest reason, cut and on one line; a tie goes by the alphabet."""
    assert fmt.most_frequent(Counter(["b\nc.", "b\nc.", "a", None])) == "b c"
    assert fmt.most_frequent(Counter(["b", "a"])) == "a"
    assert fmt.most_frequent(Counter()) == ""
    assert len(fmt.most_frequent(Counter(["x" * 500]))) == 120


def test_listed() -> None:
    """Many names are cut."""
    assert fmt.listed(["a"]) == "a"
    assert fmt.listed(["a", "b", "c"]) == "a, b and c"
    assert fmt.listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_table_aligns_wide_text() -> None:
    """Two columns a character where the terminal needs them."""
    lines = table(["arm", "n"], [["日本", "1"], ["a|b", "22"]]).splitlines()

    assert lines == ["| arm  |   n |", "| ---- | --: |", "| 日本 |   1 |", "| a\\|b |  22 |"]


def test_a_wide_table_goes_on_below_itself() -> None:
    """Every part fits a terminal and begins with the first column."""
    head = ["question", *(f"claude-{index}/plain" for index in range(12))]
    text = table(head, [["inherit", *map(str, range(12))]])
    parts = text.split("\n\n")

    assert len(parts) == 3
    assert all(part.startswith("| question |") for part in parts)
    assert max(map(len, text.splitlines())) <= 100
    assert [name for part in parts for name in part.splitlines()[0].strip("| ").split(" | ")[1:]] == head[1:]


def test_code_is_bounded() -> None:
    """A long reason is cut."""
    assert len(code("x" * 500)) == 122
