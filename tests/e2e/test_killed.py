"""SIGKILL in the middle of a trial: the next start finishes it, runs nothing twice, leaves nothing."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SPEC: dict[str, Any] = {
    "defaults": {"reps": 4, "timeout": 60, "parallel": 3},
    "limits": {"memory": "128m"},
    "arms": [{"name": "plain"}, {"name": "docs"}],
    "agents": [{"name": "four", "kind": "text", "command": "sleep 0.2; echo 4"}],
    "questions": [
        {"id": "sum", "prompt": "2+2?", "expect": ["4"]},
        {"id": "other", "prompt": "1+3?", "expect": ["4"]},
    ],
}


@pytest.fixture(scope="module")
def killed(world: Any, until: Callable[..., None]) -> Any:
    """A trial of 16 runs, killed twice in its middle and then left to end."""
    world.write(SPEC)
    world.kept = []
    with world.executions() as world.made:
        for records in (4, 9):
            process = world.start("run", "trial.yaml")
            until(lambda wanted=records: len(world.marks()) >= wanted and world.under_way(), "runs under way")
            process.kill()
            process.communicate()
            world.kept.append((world.records(), world.marks(), world.under_way()))
        world.done = world("run", "trial.yaml")
    return world


def test_all_runs_are_recorded(killed: Any) -> None:
    assert killed.done.code == 0, killed.done.err
    assert len(killed.records()) == 16
    assert "16 of 16 runs recorded in trial-results: 16 passed" in killed.done.out


def test_no_record_is_written_again(killed: Any) -> None:
    for _, marks, _ in killed.kept:
        assert 4 <= len(marks) < 16
        assert killed.marks().items() >= marks.items()


def test_no_finished_run_is_run_again(killed: Any) -> None:
    """A run whose record stood at the first kill has had one container in all."""
    made = Counter(killed.made)
    under_way = sum(count for _, _, count in killed.kept)

    for records, _, _ in killed.kept[:1]:
        assert {made[record["run_id"]] for record in records.values()} == {1}
    assert 16 <= sum(made.values()) <= 16 + under_way
    assert set(made) == {record["run_id"] for record in killed.records().values()}


def test_nothing_is_left(killed: Any, until: Callable[..., None]) -> None:
    """No container, network, socket folder or temporary file, inside the results or outside."""
    assert "that a killed start had left" in killed.done.err
    until(lambda: killed.leftovers() == [], f"nothing left: {killed.leftovers()}", 10)


def test_calls_that_were_paid_for_are_kept(world: Any, until: Callable[..., None], call_model: str) -> None:
    """Killed after a model call: its spend stands as an attempt, and the run is done."""
    spec = {
        **SPEC,
        "defaults": {"reps": 1, "timeout": 60, "parallel": 1},
        "arms": [{"name": "plain"}],
        "agents": [{"name": "asks", "kind": "text", "command": f"{call_model}; sleep 3"}],
        "questions": SPEC["questions"][:1],
        "prices": {"m": {"input": 1000, "output": 1000}},
    }
    world.write(spec, "calls.yaml")
    folder = world.folder / "calls-results"
    process = world.start("run", "calls.yaml", "--model-script", "script.yaml")
    until(lambda: any(path.stat().st_size for path in folder.glob(".staging/*/calls.jsonl")), "a call")
    process.kill()
    process.communicate()
    done = world("run", "calls.yaml", "--model-script", "script.yaml")
    place = folder / "runs/sum/plain/asks/1"
    record, attempt = (
        json.loads(path.read_text()) for path in (place / "run.json", place / "attempts/1/attempt.json")
    )

    assert done.code == 0
    assert "saved 1 attempt that a killed start had left unfinished" in done.err
    assert (record["attempt"], record["outcome"]) == (2, "passed")
    assert (attempt["attempt"], attempt["outcome"]) == (1, "infra")
    assert attempt["run_id"] == record["run_id"]
    for spend in (attempt["metered"], record["metered"]):
        assert spend["usage"]["input"] == 100
        assert spend["cost_usd"] == pytest.approx(0.11)
    assert (place / "attempts/1/calls.jsonl").read_text().count("\n") == 1
    assert not (folder / ".staging").exists()


def test_a_build_that_was_killed_leaves_no_container(world: Any, until: Callable[..., None]) -> None:
    """The next start removes it, also one that builds something else."""
    arms = [{"name": "plain"}, {"name": "built", "setup": [f"sleep 60 # {world.name}"]}]
    world.write({**SPEC, "arms": arms, "defaults": {"reps": 1}}, "built.yaml")
    builds = {"all": True, "filters": {"label": "tiltyard.build-lock"}}
    before = {found["Id"] for found in world.engine.api.containers(**builds)}

    def new() -> set[str]:
        return {found["Id"] for found in world.engine.api.containers(**builds)} - before

    process = world.start("run", "built.yaml")
    until(lambda: len(new()) > 0, "a build")
    (container,) = new()
    process.kill()
    process.communicate()
    done = world("run", "built.yaml", "--arm", "plain", "--question", "sum")

    assert done.code == 0
    assert container not in new()
