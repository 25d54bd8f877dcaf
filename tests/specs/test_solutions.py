"""A solution that cannot solve its question, or a key that its own right answer does not satisfy."""

# ruff: noqa: E501  (a sentence that a user reads stands on one line, where a search finds it)

from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_specs import answer_key, load_trial, select
from tiltyard_specs.solutions import is_patch

Sentences = Callable[..., list[str]]
Write = Callable[..., Path]
DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
KEY = "    expect: [it]\n"
PLACE = "trial.yaml:10: questions[0].solution: "


def key(text: str) -> tuple[str, str]:
    return KEY, f"    solution: right\n    {text}\n"


@pytest.mark.parametrize(
    ("question", "solution", "sentence"),
    [
        ("verify: make", "Option", '"right" is not a patch, and the question is decided by verify; give a patch as git diff writes it'),
        ("verify: make", "", '"right" is not a patch, and the question is decided by verify; give a patch as git diff writes it'),
        ("expect: [x]", DIFF, '"right" is a patch, but the question has no verify command to try it by; give the text of the right answer, or add verify'),
        ("expect: [it, that]", "it is this", "the right answer does not satisfy the question's own key: 'that' of expect not found; correct the key or the solution"),
        ("expect: ['^it$']", "", "the right answer does not satisfy the question's own key: '^it$' of expect not found; correct the key or the solution"),
        (r"expect: ['\bOption\b'], forbid: ['(?i)COMMAND', x]", "Option, not Command", "the right answer does not satisfy the question's own key: '(?i)COMMAND' of forbid found; correct the key or the solution"),
        ("expect: [a, b, c, d, e], forbid: [x]", "x", "the right answer does not satisfy the question's own key: 'a', 'b', 'c' and 2 more of expect not found, 'x' of forbid found; correct the key or the solution"),
        ("expect: [a, b, c], min_recall: 0.67", "a", "the right answer does not satisfy the question's own key: 'b', 'c' of expect not found; correct the key or the solution"),
        ("expect: [a]", "a" * (1024 * 1024 + 1), '"right" is longer than an answer can be, 1048576 bytes'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_solution(
    sentences: Sentences, tmp_path: Path, question: str, solution: str, sentence: str
) -> None:
    (tmp_path / "right").write_text(solution)
    old = "  - id: q1\n    prompt: What is it?\n    expect: [it]\n"

    found = sentences((old, f"  - {{id: q1, prompt: What, solution: right, {question}}}\n"))

    assert found == [f"trial.yaml:8: questions[0].solution: {sentence}"]


@pytest.mark.parametrize(
    ("question", "solution"),
    [
        ("verify: make", DIFF),
        ("verify: make, expect: [never]", DIFF),
        ("expect: ['^it$']", "it\n"),
        ("expect: [a, b, c], min_recall: 0.667", "a b"),
        ("expect: [it], forbid: [x]", "\n it \n"),
    ],
)
def test_a_solution_that_can_solve_its_question_is_right(
    write: Write, tmp_path: Path, question: str, solution: str
) -> None:
    (tmp_path / "right").write_text(solution)
    old = "  - id: q1\n    prompt: What is it?\n    expect: [it]\n"
    new = f"  - {{id: q1, prompt: What, solution: right, {question}}}\n"

    trial = select(load_trial(write((old, new), ("{name: claude, model: sonnet}", "{name: oracle}"))))

    assert trial.question("q1").solution == "right"


@pytest.mark.slow
def test_a_pattern_without_an_end_does_not_stop_the_check(
    sentences: Sentences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_key, "SEARCH_SECONDS", 0.5)
    (tmp_path / "right").write_text("a" * 60 + "b")

    (found,) = sentences(key("expect: [a, '^(a+)+$']"))

    assert found == (
        f"{PLACE}the key cannot be tried on the solution: The pattern '^(a+)+$' took more than 0.5 s "
        "on 61 characters; write it without a repetition inside a repetition"
    )


def test_of_a_question_with_another_problem_nothing_is_made_up(sentences: Sentences, tmp_path: Path) -> None:
    (tmp_path / "right").write_text("it")

    (found,) = sentences(key("expect: ['(']"))

    assert "not a valid regular expression" in found


@pytest.mark.parametrize(
    ("text", "patch"),
    [
        (DIFF, True),
        ("\n" + DIFF, True),
        ("--- a\t2026-01-01\r\n+++ b\r\n", True),
        ("Index: x\n=====\n", True),
        ("commit " + "0" * 40 + " (HEAD)\n", True),
        ("From " + "a" * 64 + " Mon Sep 17 00:00:00 2001\n", True),
        ("diff is what I mean", False),
        ("--- a\nno patch\n", False),
        ("From here to there", False),
        ("commit to it", False),
        ("", False),
    ],
)
def test_what_a_patch_begins_with(text: str, patch: bool) -> None:
    assert is_patch(text.encode()) is patch
