"""`tiltyard check --grade`: graders are tried before money is spent, without a model and without a key."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

PATCH = """\
diff --git a/answer.txt b/answer.txt
new file mode 100644
--- /dev/null
+++ b/answer.txt
@@ -0,0 +1 @@
+42
"""
WRITE = "Write 42 into answer.txt."
SOLVED = {"prompt": WRITE, "solution": "answer.patch"}
GOOD = {"id": "good", **SOLVED, "verify": "grep -qx 42 answer.txt"}
EMPTY = {"id": "empty", **SOLVED, "verify": "true"}
BROKEN = {"id": "broken", **SOLVED, "verify": "echo no such tool; exit 3"}
FLAKY = {"id": "flaky", **SOLVED, "verify": 'grep -qx 42 answer.txt && test "$TRIAL_REP" != 2'}
UNSOLVED = {"id": "unsolved", "prompt": WRITE, "verify": "grep -qx 42 answer.txt"}
KEY = {"id": "key", "prompt": "2+2?", "expect": ["4"]}
TEXT = {"id": "text", "prompt": "6*7?", "expect": ["42"], "solution": "answer.txt"}
SPEC: dict[str, Any] = {
    "defaults": {"reps": 2, "timeout": 60, "parallel": 2, "baseline": "plain"},
    "limits": {"memory": "128m"},
    # The arm's own command would make another agent of the oracle.
    "arms": [{"name": "other", "setup": ["exit 1"]}, {"name": "plain", "command": "echo 4"}],
    "agents": [{"name": "claude", "model": "m", "edits": True}],
    "protect": ["tests/"],
}


@pytest.fixture(scope="module")
def grading(world: Any) -> Any:
    """The folder with the solutions."""
    (world.folder / "answer.patch").write_text(PATCH)
    (world.folder / "answer.txt").write_text("It is 42.\n")
    return world


def _graded(world: Any, *questions: dict[str, Any], more: tuple[str, ...] = (), **changes: Any) -> Any:
    world.write(SPEC | {"questions": list(questions)} | changes)
    done = world("check", "trial.yaml", "--grade", *more, ANTHROPIC_API_KEY="")
    assert not world.leftovers()
    assert not (world.folder / "trial-results").exists()
    return done


def test_good_graders(grading: Any) -> None:
    """A patch and a text; the arm that is no baseline, a budget and a missing key are in no way."""
    done = _graded(grading, GOOD, TEXT, KEY, more=("--regrades", "2"), budget={"tokens": 1000})

    assert done.code == 0, done.out + done.err
    assert done.out.splitlines()[2:] == [
        "good: the oracle passed 2 of 2, nop passed 0 of 2: good",
        "text: the oracle passed 2 of 2, nop passed 0 of 2: good",
        "key: neither verify nor a solution: nothing to try",
        "Graders in arm plain: 2 good, 0 bad, 0 in doubt.",
    ]
    assert "warning: trial.yaml" in done.err
    assert "ANTHROPIC_API_KEY" in done.err


def test_bad_graders(grading: Any) -> None:
    """They outweigh those in doubt."""
    done = _graded(grading, EMPTY, BROKEN, UNSOLVED, more=("--regrades", "1"))

    assert done.code == 1, done.out + done.err
    empty, broken, _, closing = done.out.splitlines()[2:]
    assert (
        empty == "empty: the oracle passed 1 of 1, nop passed 1 of 1: nop passed: the question proves nothing"
    )
    assert broken == (
        "broken: the oracle passed 0 of 1, nop passed 0 of 1: the reference solution does not pass: "
        "verify ended with exit code 3: no such tool"
    )
    assert closing == "Graders in arm plain: 0 good, 2 bad, 1 in doubt."


def test_graders_in_doubt(grading: Any) -> None:
    """One that disagrees with itself, and one of which only half is known."""
    done = _graded(grading, FLAKY, UNSOLVED)

    assert done.code == 2, done.out + done.err
    flaky, unsolved, closing = done.out.splitlines()[2:]
    assert flaky == (
        "flaky: the oracle passed 2 of 3, nop passed 0 of 3: the grader disagrees with itself: 2 of 3"
    )
    assert unsolved == "unsolved: nop passed 0 of 3: no solution: only nop was tried"
    assert closing == "Graders in arm plain: 0 good, 0 bad, 2 in doubt."


def test_an_interrupt_leaves_nothing(grading: Any, until: Callable[..., None]) -> None:
    """Once it is asked to stop now, the runs under way are ended."""
    grading.write(SPEC | {"questions": [GOOD | {"verify": "sleep 60"}]})
    process = grading.start("check", "trial.yaml", "--grade")
    until(lambda: bool(grading.containers()), "a container")
    process.send_signal(signal.SIGTERM)
    done = grading.end(process)

    assert done.code == 130, done.err
    assert not grading.leftovers()


def test_a_setup_that_fails_leaves_doubt(grading: Any) -> None:
    done = _graded(grading, GOOD, more=("--regrades", "1"), defaults=SPEC["defaults"] | {"baseline": "other"})

    assert done.code == 2, done.out + done.err
    assert "no verdict on the oracle 1 of 1: setup_failed: " in done.out


def test_what_cannot_be_tried(grading: Any) -> None:
    """Nothing to try, no engine, wrong usage, a wrong spec."""
    done = _graded(grading, KEY)
    assert done.code == 2
    assert done.out.splitlines()[-1] == "No question has verify or a solution: no grader was tried."

    grading.write(SPEC | {"questions": [GOOD]})
    nowhere = grading("check", "trial.yaml", "--grade", DOCKER_HOST="unix:///nowhere.sock")
    assert nowhere.code == 69
    assert "No Docker engine answers" in nowhere.err
    assert grading("check", "trial.yaml", "--regrades", "2").code == 64

    grading.write(SPEC | {"questions": [GOOD | {"solution": "absent.patch"}]})
    assert grading("check", "trial.yaml", "--grade").code == 65
