"""Trials that do not go well: a setup that fails, a budget that is spent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SPEC: dict[str, Any] = {
    "defaults": {"reps": 2, "timeout": 60, "parallel": 2},
    "limits": {"memory": "128m"},
    "arms": [{"name": "plain"}, {"name": "broken", "setup": ["echo first", "echo no such tool >&2; exit 3"]}],
    "agents": [{"name": "four", "kind": "text", "command": "echo 4"}],
    "questions": [{"id": "sum", "prompt": "2+2?", "expect": ["4"]}],
}


@pytest.fixture(scope="module")
def broken(world: Any) -> Any:
    """A trial with an arm whose setup fails, started twice."""
    world.write(SPEC)
    world.first = world("run", "trial.yaml")
    world.first_records = world.records()
    world.again = world("run", "trial.yaml", "--retry-failed")
    return world


def test_a_failed_setup_is_recorded_and_the_others_go_on(broken: Any) -> None:
    assert broken.first.code == 3
    assert {key: record["outcome"] for key, record in broken.first_records.items()} == {
        "sum/plain/four/1": "passed",
        "sum/plain/four/2": "passed",
        "sum/broken/four/1": "setup_failed",
        "sum/broken/four/2": "setup_failed",
    }
    reason = broken.first_records["sum/broken/four/1"]["reason"]
    assert "echo no such tool >&2; exit 3" in reason
    assert "exited with 3" in reason


def test_a_failed_setup_is_told_in_one_sentence(broken: Any) -> None:
    told = [line for line in broken.first.out.splitlines() if line.startswith("UNHEALTHY: ")]

    assert len(told) == 1
    path = told[0].rpartition(" Its log is ")[2]
    assert told[0].startswith(
        "UNHEALTHY: 2 runs of arm broken setup_failed: the setup command "
        "'echo no such tool >&2; exit 3' exited with 3: no such tool. Its log is /"
    )
    assert Path(path).read_text().splitlines()[-1] == "no such tool"


def test_the_end_of_a_failed_setups_log_is_shown(broken: Any) -> None:
    """Once, while images are built."""
    lines = broken.first.err.splitlines()
    (start,) = [index for index, line in enumerate(lines) if line.startswith("arm broken: the setup command")]

    assert lines[start].endswith("; it ends:")
    assert [line.strip() for line in lines[start + 2 : start + 6]] == [
        "$ echo first",
        "first",
        "$ echo no such tool >&2; exit 3",
        "no such tool",
    ]


def test_the_report_of_an_unhealthy_trial_is_headed_so(broken: Any) -> None:
    """And is rendered all the same: exit 0."""
    report = broken("report", "trial-results")

    assert report.code == 0
    assert "UNHEALTHY" in report.out.splitlines()[0] + report.out.splitlines()[2]


def test_retry_failed_opens_what_did_not_count(broken: Any) -> None:
    """The passed runs stay; each failed setup becomes an earlier attempt, and is tried again."""
    assert broken.again.code == 3
    assert "4 runs, 2 of them done already" in broken.again.err
    assert broken.records()["sum/plain/four/1"] == broken.first_records["sum/plain/four/1"]
    assert {key: attempt["attempt"] for key, attempt in broken.attempts().items()} == {
        "sum/broken/four/1/attempts/1": 1,
        "sum/broken/four/2/attempts/1": 1,
    }
    assert broken.records()["sum/broken/four/1"]["attempt"] == 2


def test_a_dry_run_shows_what_retry_failed_would_do(broken: Any) -> None:
    plain, retry = (broken("run", "trial.yaml", "--dry-run", *extra) for extra in ([], ["--retry-failed"]))

    assert "4 runs, 4 done, 0 to run" in plain.out
    assert "4 runs, 2 done, 2 to run" in retry.out


def test_a_trial_that_was_lost_is_not_done(world: Any) -> None:
    """An agent that never calls its model says nothing about the model, however often it is asked."""
    agents = [{"name": "claude", "model": "m", "command": "echo '{}'"}]
    world.write({**SPEC, "arms": [{"name": "plain"}], "agents": agents}, "lost-all.yaml")
    done = world("run", "lost-all.yaml", "--model-script", "script.yaml")
    told = [line for line in done.out.splitlines() if line.startswith("UNHEALTHY: ")]

    assert done.code == 3, done.err
    assert len(told) == 1
    assert told[0].startswith("UNHEALTHY: 2 of 2 runs lost (2 unmetered), most often because: ")
    assert told[0].endswith("; do them again with --retry-failed")


def test_broken_commands_raise_an_alarm(world: Any) -> None:
    """The agent's, and that of verify; the exit code is that of a finished trial."""
    spec = {
        **SPEC,
        "defaults": {"reps": 1, "timeout": 60},
        "arms": [{"name": "plain"}],
        "agents": [
            {"name": "mute", "kind": "text", "command": "no-such-agent", "edits": True},
            {"name": "four", "kind": "text", "command": "echo 4", "edits": True},
        ],
        "questions": [*SPEC["questions"], {"id": "build", "prompt": "Build it.", "verify": "no-such-make"}],
    }
    world.write(spec, "alarms.yaml")
    done = world("run", "alarms.yaml")
    alarms = [line for line in done.out.splitlines() if line.startswith("WARNING: ")]

    assert done.code == 0
    assert any(line.startswith("WARNING: every run of agent mute ended as no_answer") for line in alarms)
    assert any(line.startswith("WARNING: verify of question build exited with 127 in ") for line in alarms)
    assert not any("agent four" in line for line in alarms)


def test_nothing_begins_once_the_budget_is_spent(world: Any, call_model: str) -> None:
    """A call's worst case must fit. Started again it stays so, and more budget lets it go on."""
    spec = {
        **SPEC,
        "defaults": {"reps": 4, "timeout": 60, "parallel": 1},
        "arms": [{"name": "plain"}],
        "agents": [{"name": "asks", "kind": "text", "model": "m", "command": call_model}],
        "budget": {"tokens": 1300},
    }
    world.write(spec, "costly.yaml")
    starts = [world("run", "costly.yaml", "--model-script", "script.yaml") for _ in range(2)]
    report = world("report", "costly-results")
    world.write({**spec, "budget": {"tokens": 9000}}, "costly.yaml")
    enough = world("run", "costly.yaml", "--model-script", "script.yaml")

    for done in starts:
        assert done.code == 3
        assert "2 of 4 runs recorded in costly-results: 2 passed" in done.out
        assert (
            "and 1080 tokens of the trial's budget of 1300 tokens is left. "
            "To go on: raise `budget` in costly.yaml, "
            "then tiltyard run costly.yaml --model-script script.yaml" in done.out
        )
    assert report.code == 0
    assert "PARTIAL" in report.out
    assert enough.code == 0
    assert "4 of 4 runs recorded" in enough.out


def test_a_scripted_answer_is_never_taken_for_a_providers(world: Any) -> None:
    """The same folder, now without the script: nothing in it is done."""
    done = world("run", "costly.yaml", "--dry-run")

    assert "4 runs, 0 done, 4 to run" in done.out


def test_a_run_that_the_engine_lost_is_tried_again(world: Any, until: Callable[..., None]) -> None:
    """Its way to the meter goes while it works: an infra attempt, kept, and a second one that counts."""
    agents = [{"name": "slow", "kind": "text", "command": "sleep 1.5; echo 4"}]
    world.write(
        {**SPEC, "defaults": {"reps": 1, "timeout": 60}, "arms": [{"name": "plain"}], "agents": agents},
        "lost.yaml",
    )
    process = world.start("run", "lost.yaml")
    running = {"label": [f"tiltyard.trial={world.name}", "tiltyard.role=run"], "status": "running"}
    until(lambda: len(world.engine.api.containers(filters=running)) == 1, "an agent at work")
    forwarders = {"label": [f"tiltyard.trial={world.name}", "tiltyard.role=forwarder"]}
    (forwarder,) = world.engine.api.containers(filters=forwarders)
    world.engine.api.remove_container(forwarder["Id"], force=True)
    done = world.end(process)
    place = world.folder / "lost-results/runs/sum/plain/slow/1"
    record, attempt = (
        json.loads(path.read_text()) for path in (place / "run.json", place / "attempts/1/attempt.json")
    )

    assert done.code == 0
    assert "; tried again" in done.err
    assert (record["outcome"], record["attempt"]) == ("passed", 2)
    assert (attempt["outcome"], attempt["attempt"]) == ("infra", 1)
    assert attempt["reason"] == "the slot's way to the meter broke during the run"


def test_nothing_is_left(broken: Any) -> None:
    assert broken.leftovers() == []
