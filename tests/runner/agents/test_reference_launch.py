"""The oracle gives the solution in the form that the question asks for, and nop does nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from tiltyard_runner.agents import SCRATCH, AgentOutput, AgentResult, AgentTask, adapter_for
from tiltyard_specs import answer_key
from tiltyard_specs.answer_key import score_answer
from tiltyard_specs.errors import DataError

PATCH = b"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\r\n+ONE\r\n two\n\\ No newline at end of file\n"


def play(kind: str, folder: Path, solution: bytes | None = None) -> AgentResult:
    """Really run the launch of a reference agent in a folder, and parse what it left."""
    tree, scratch = folder / "tree", folder / "scratch"
    tree.mkdir()
    (tree / "a.txt").write_bytes(b"one\r\ntwo")
    launch = adapter_for(kind).launch(AgentTask(prompt="p", edits=True, solution=solution))
    for file in launch.files:
        place = Path(file.path.replace(SCRATCH, str(scratch)))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
    argv = [part.replace(SCRATCH, str(scratch)) for part in launch.argv]
    done = subprocess.run(
        argv,
        cwd=tree,
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    (folder / "out").write_bytes(done.stdout)
    (folder / "err").write_bytes(done.stderr)
    return adapter_for(kind).parse(AgentOutput(folder / "out", folder / "err", done.returncode))


@pytest.mark.parametrize(
    "head", [b"", b"diff --git a/a.txt b/a.txt\n", b"From " + b"0" * 40 + b" Mon Sep 17\n\n"]
)
def test_a_patch_is_applied_to_the_byte(tmp_path: Path, head: bytes) -> None:
    result = play("oracle", tmp_path, head + PATCH)

    assert (tmp_path / "tree" / "a.txt").read_bytes() == b"ONE\r\ntwo"
    assert (result.answer, result.error, result.complete) == ("applied the solution", None, True)


def test_a_patch_that_does_not_apply_has_no_answer(tmp_path: Path) -> None:
    result = play("oracle", tmp_path, PATCH.replace(b"-one", b"-two"))

    assert result.answer is None
    assert result.error is not None
    assert "patch failed: a.txt:1" in result.error.message


@pytest.mark.parametrize(
    "text",
    [
        "Option and Argument.",
        "From 3 to 5.",
        "--- that is all ---",
        "-n $HOME `id` 'x' \\ ü😀",
        "In short:\ndiff --git a/x b/x",
        "two\n\nlines",
    ],
)
def test_any_other_text_is_the_answer(tmp_path: Path, text: str) -> None:
    result = play("oracle", tmp_path, f"{text}\n".encode())

    assert (result.answer, result.error, result.complete) == (text, None, True)
    assert (tmp_path / "tree" / "a.txt").read_bytes() == b"one\r\ntwo"


def test_an_empty_solution_is_no_answer(tmp_path: Path) -> None:
    result = play("oracle", tmp_path, b"\n")

    assert result.answer is None
    assert result.error is not None
    assert result.error.kind == "no_answer"


def test_an_oracle_without_a_solution_says_what_it_needs() -> None:
    with pytest.raises(DataError, match="The oracle needs a solution; give the question `solution:"):
        adapter_for("oracle").launch(AgentTask(prompt="p"))


def test_nop_leaves_everything_as_it_is(tmp_path: Path) -> None:
    result = play("nop", tmp_path)

    assert (result.answer, result.error, result.complete) == (None, None, True)
    assert (tmp_path / "tree" / "a.txt").read_bytes() == b"one\r\ntwo"


@pytest.mark.parametrize("answer", [None, "", "a b", "a", "x" * 1_000_001 + "a", "a\nb"])
@pytest.mark.parametrize("expect", [(), ("a",), ("a", "b", "c"), ("^b$", "a+")])
@pytest.mark.parametrize(("forbid", "least"), [((), 1.0), (("b",), 0.667), ((), 0.333), ((), 0.0)])
def test_check_tries_a_key_by_the_rule_that_scores(
    answer: str | None, expect: tuple[str, ...], forbid: tuple[str, ...], least: float
) -> None:
    scored = score_answer(answer, expect, forbid, least)

    assert answer_key.score_answer(answer, expect, forbid, least) == scored
