"""The index of outcomes: for each way in which a run can end, the test that brings it about for real."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tiltyard_specs import Outcome

TESTS = Path(__file__).parents[1]
PROVOKED: dict[Outcome, dict[str, str]] = {
    Outcome.PASSED: {
        "by verify": "runner/test_verify.py::test_a_solved_change_task_passes_even_without_an_answer",
        "by the answer key": "runner/test_verify.py::test_an_answer_is_scored_by_its_key",
    },
    Outcome.FAILED: {
        "by verify": "runner/test_verify.py::test_a_failed_verify_fails_the_run_with_its_exit_code",
        "by the answer key": "runner/test_verify.py::test_an_answer_is_scored_by_its_key",
    },
    Outcome.NO_ANSWER: {
        "a crash": "runner/test_limits.py::test_exit_codes_are_recorded",
        "an empty answer": "runner/test_verify.py::test_an_answer_is_scored_by_its_key",
    },
    Outcome.TIMEOUT: {
        "the agent": "runner/test_limits.py::test_at_its_time_limit_an_agent_may_say_a_last_word",
        "its spend": "runner/test_metered_run.py::test_what_was_spent_stands_in_the_record_of_every_end",
    },
    Outcome.LIMIT: {
        "usd, tokens and turns": "e2e/test_meter_rules.py::test_a_runs_own_limit_ends_it",
        "steps": "runner/test_mini_run.py::test_a_step_limit_and_a_time_limit_leave_their_usage",
        "memory": "runner/test_limits.py::test_a_run_beyond_its_memory_ends_at_its_limit",
        "disk, one file": "runner/test_limits.py::test_one_file_beyond_the_disk_limit_ends_the_run",
        "disk, many files": "runner/test_limits.py::test_many_small_files_beyond_the_disk_limit_end_the_run",
    },
    Outcome.TAMPERED: {
        "a protected path": "runner/test_protected.py::test_touching_a_protected_path_is_tampering",
    },
    Outcome.INFRA: {
        "the image": "runner/test_life.py::test_an_image_that_is_not_there_is_infra",
        "the container": "runner/test_life.py::test_a_container_removed_under_a_run_is_infra",
        "the slot, tried again": "e2e/test_unhealthy.py::test_a_run_that_the_engine_lost_is_tried_again",
        "the engine, tried again": "e2e/test_faults_engine.py::test_an_engine_that_is_killed_and_comes_back",
        "the node's disk": "runner/test_life.py::test_a_folder_that_cannot_be_written_is_infra_and_no_crash",
        "the driver": "e2e/test_killed.py::test_calls_that_were_paid_for_are_kept",
        "the gateway": "e2e/test_faults_disk.py::test_a_gateway_that_dies",
    },
    Outcome.SETUP_FAILED: {
        "in the image": "e2e/test_unhealthy.py::test_a_failed_setup_is_recorded_and_the_others_go_on",
        "each run": "runner/test_setup_in_run.py::test_a_failed_setup_is_recorded_and_the_agent_never_starts",
        "without a network": "e2e/test_outcomes.py::test_a_setup_that_finds_no_network",
    },
    Outcome.UNDELIVERED: {
        "a skill": "e2e/test_outcomes.py::test_a_skill_that_never_reached_the_agent",
    },
    Outcome.UNMETERED: {
        "no call": "e2e/test_unhealthy.py::test_a_trial_that_was_lost_is_not_done",
    },
    Outcome.CANCELLED: {
        "by the user": "e2e/test_interrupted.py::test_two_interrupts_stop_now",
        "by the budget": "e2e/test_meter_rules.py::test_the_budget_is_never_passed",
    },
}
ROWS = [(outcome, cause, test) for outcome, tests in PROVOKED.items() for cause, test in tests.items()]
SPEC: dict[str, Any] = {
    "defaults": {"reps": 1, "timeout": 60},
    "limits": {"memory": "128m"},
    "arms": [{"name": "plain"}],
    "agents": [{"name": "four", "kind": "text", "command": "echo 4"}],
    "questions": [{"id": "sum", "prompt": "2+2?", "expect": ["4"]}],
}


def test_every_outcome_is_provoked() -> None:
    assert set(PROVOKED) == set(Outcome)
    assert all(PROVOKED.values())


@pytest.mark.parametrize(("outcome", "cause", "test"), ROWS, ids=[f"{o}: {cause}" for o, cause, _ in ROWS])
def test_the_test_is_there_and_on_a_real_engine(outcome: Outcome, cause: str, test: str) -> None:
    """It names the outcome that it brings about, as a literal or as a member."""
    file, _, name = test.partition("::")
    text = (TESTS / file).read_text(encoding="utf-8")
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}

    assert name in functions, f"{cause}: there is no such test any more"
    node = functions[name]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    body = "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    assert outcome.value in body.lower(), f"{cause}: {test} does not name {outcome}"
    assert "mark.engine" in text


@pytest.mark.engine
@pytest.mark.slow
def test_a_skill_that_never_reached_the_agent(world: Any) -> None:
    """A CLI that does not list it among its skills: the run is void, and the trial UNHEALTHY."""
    init = {
        "type": "system",
        "subtype": "init",
        "session_id": "s",
        "model": "m",
        "tools": ["Bash"],
        "skills": [],
    }
    skill = {"name": "acme", "description": "What it is for.", "content": "How to use it."}
    world.write(
        SPEC
        | {
            "arms": [{"name": "plain"}, {"name": "skilled", "skills": [skill]}],
            "agents": [{"name": "claude", "model": "m", "command": f"echo '{json.dumps(init)}'"}],
        }
    )
    done = world("run", "trial.yaml", "--arm", "skilled", "--model-script", "script.yaml")
    (record,) = world.records().values()

    assert record["outcome"] == "undelivered"
    assert record["reason"].startswith("never reached the agent: skill acme")
    assert done.code == 3
    assert "UNHEALTHY: 1 run of arm skilled undelivered: never reached the agent: skill acme" in done.out


@pytest.mark.engine
@pytest.mark.slow
def test_a_setup_that_finds_no_network(world: Any) -> None:
    """It is the arm's setup that failed: told with the command, its exit code and the end of its log."""
    fetch = "python3 -c \"import urllib.request as r; r.urlopen('http://127.0.0.1:9/tool', timeout=5)\""
    world.write(SPEC | {"arms": [{"name": "plain"}, {"name": "fetches", "setup": [fetch]}]}, "net.yaml")
    done = world("run", "net.yaml", "--arm", "fetches")

    assert done.code == 3
    (told,) = [line for line in done.out.splitlines() if line.startswith("UNHEALTHY: ")]
    assert told.startswith("UNHEALTHY: 1 run of arm fetches setup_failed: the setup command 'python3 -c ")
    assert "Connection refused" in told
    assert world.leftovers() == []
