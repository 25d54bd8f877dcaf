"""Numbers as printed: no false zero, no false one, no false certainty."""

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

    assert fmt.with_bounds(alone, fmt.significant) == "5.00 (not known: 1 run)"
    assert fmt.with_bounds(None, fmt.significant) == "unknown"


def test_table_aligns_wide_text() -> None:
    """Two columns a character where the terminal needs them."""
    lines = table(["arm", "n"], [["日本", "1"], ["a|b", "22"]]).splitlines()

    assert lines == ["| arm  |   n |", "| ---- | --: |", "| 日本 |   1 |", "| a\\|b |  22 |"]


def test_code_is_bounded() -> None:
    """A long reason is cut."""
    assert len(code("x" * 500)) == 122
