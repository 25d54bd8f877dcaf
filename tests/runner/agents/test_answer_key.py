"""Answer keys and the `uses` pattern."""

import time

import pytest

from tiltyard_runner.agents import ToolCall
from tiltyard_runner.tool_use import used_tool
from tiltyard_specs import answer_key
from tiltyard_specs.answer_key import SlowPatternError, score_answer
from tiltyard_specs.record import Score


def test_all_expected_and_nothing_forbidden_is_correct() -> None:
    assert score_answer("Option and Argument", [r"\bOption\b", r"\bArgument\b"], ["Group"]) == Score(
        correct=True, recall=1.0
    )


def test_what_is_missing_and_what_is_forbidden_are_named() -> None:
    assert score_answer(
        "an Option of a Group", [r"\bOption\b", r"\bArgument\b"], ["Gr.up", "x"], 0.5
    ) == Score(correct=False, recall=0.5, missing=(r"\bArgument\b",), forbidden=("Gr.up",))


@pytest.mark.parametrize(
    ("min_recall", "correct"),
    [
        (0.6667, True),
        (0.667, True),
        (0.66, True),
        (2 / 3, True),
        (0.0, True),
        (0.67, False),
        (0.9995, False),
        (1, False),
    ],
)
def test_two_of_three_is_enough_however_the_spec_rounds_it(min_recall: float, correct: object) -> None:
    assert score_answer("a b", ["a", "b", "c"], min_recall=min_recall).correct is correct


def test_full_recall_forgives_no_pattern_among_thousands() -> None:
    expect = ["a"] * 4999 + ["z"]
    assert score_answer("a", expect, min_recall=1.0).correct is False


def test_no_pattern_expected_has_no_recall_and_is_correct_unless_forbidden() -> None:
    assert score_answer("x", [], ["y"]) == Score(correct=True, recall=None)
    assert score_answer("y", [], ["y"]) == Score(correct=False, recall=None, forbidden=("y",))


def test_no_answer_is_never_correct() -> None:
    assert score_answer(None, ["a"], min_recall=0.0) == Score(correct=False, recall=0.0, missing=("a",))
    assert score_answer(None, [], ["a"]) == Score(correct=False, recall=None)


def test_patterns_are_searched_without_flags() -> None:
    assert score_answer("Yes\nno", ["^no"]).correct is False
    assert score_answer("Yes\nno", ["(?m)^no", "(?i)yes"]).correct is True
    assert score_answer("yes", ["Yes"]).correct is False


def test_patterns_with_repetitions_give_the_same_verdicts_as_without() -> None:
    """They are searched in another process, whatever the answer holds."""
    answer = "caf\u00e9 \ud800 \U0001f600\nx=1\0"
    assert score_answer(answer, ["caf\u00e9", r"x=\d+", r"\bz*q", "\U0001f600"], [r"y=\d+"], 0.5) == Score(
        correct=True, recall=0.75, missing=(r"\bz*q",)
    )


@pytest.mark.slow
def test_a_pattern_that_would_never_end_is_stopped_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_key, "SEARCH_SECONDS", 0.5)
    started = time.monotonic()
    with pytest.raises(
        SlowPatternError, match=r"The pattern '\(a\+\)\+\$' took more than 0.5 s on 41 characters"
    ):
        score_answer("a" * 40 + "!", ["a", "(a+)+$", "b"])
    assert time.monotonic() - started < 5


def test_of_a_flood_the_end_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_key, "MAX_SCORED_CHARS", 10)
    assert score_answer("early" + "." * 20 + "late", ["late"]).correct is True
    assert score_answer("early" + "." * 20 + "late", ["early"]).correct is False


CALLS = [
    ToolCall("Bash", {"command": 'cd x && "bin/kg" find\nls'}),
    ToolCall("mcp__acme__find", {"deep": [{"text": "^needle"}], "n": 3}),
    ToolCall("odd", None),
]


@pytest.mark.parametrize(
    ("pattern", "used"),
    [
        ("bin/kg", True),
        ('"bin/kg" find$', False),
        ('(?m)"bin/kg" find$', True),  # the text itself, not its JSON form
        ("^cd x", True),
        ("^mcp__acme__", True),
        (r"\^needle", True),
        (r'^mcp__acme__find .*"n": 3', True),
        ("kg (?:add|drop)", False),
        ("^odd null$", True),
    ],
)
def test_a_tool_is_used_when_a_call_matches_by_name_or_by_input(pattern: str, used: object) -> None:
    assert used_tool(pattern, CALLS) is used


def test_no_call_uses_nothing() -> None:
    assert used_tool("", []) is False
    assert used_tool(".*", []) is False


@pytest.mark.slow
def test_an_input_of_any_depth_is_searched() -> None:
    deep: object = "needle"
    for _ in range(100_000):
        deep = [deep]
    assert used_tool("needle", [ToolCall("t", deep)]) is True
