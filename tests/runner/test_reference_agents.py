"""The oracle and the nop agent check a grader before money is spent: one must pass, the other must fail."""

from typing import Any

import pytest

from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine]


def test_the_oracle_passes_with_a_patch_that_a_run_has_left(bench: Any) -> None:
    key = Key(verify=bench.VERIFY, protect=("tests/**",))
    first = bench.run(f"{bench.FIX}; head -c 3000 /dev/urandom > blob; printf 'x' > 'a b'", key=key)
    oracle = bench.run("", kind="oracle", task={"command": None, "solution": first.patch}, key=key)
    assert oracle.record.outcome is Outcome.PASSED, oracle.record.reason
    assert oracle.patch == first.patch


def test_an_oracle_whose_solution_does_not_apply_has_no_answer(bench: Any) -> None:
    wrong = b"--- a/calc.py\n+++ b/calc.py\n@@ -1,1 +1,1 @@\n-nothing like it\n+x\n"
    record = bench.run(
        "", kind="oracle", task={"command": None, "solution": wrong}, key=Key(verify=bench.VERIFY)
    ).record
    assert record.outcome is Outcome.NO_ANSWER
    assert "patch" in record.reason


def test_nop_fails_a_change_task_and_answers_nothing(bench: Any) -> None:
    record = bench.run("", kind="nop", key=Key(verify=bench.VERIFY)).record
    assert (record.outcome, record.reason) == (Outcome.FAILED, "verify ended with exit code 1")
    assert record.patch.files == ()
    assert bench.run("", kind="nop", edits=False, key=Key(expect=("x",))).record.outcome is Outcome.NO_ANSWER
