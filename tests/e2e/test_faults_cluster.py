"""A results folder that fills up or goes away while a cluster works in it: told as on one machine."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests import held_agents
from tests.mounts import fill, mounted, small_disk
from tiltyard_cluster.reading import read_result
from tiltyard_cluster.store import FolderStore

pytestmark = [pytest.mark.engine, pytest.mark.slow]


until = held_agents.until
SPEC: dict[str, Any] = {
    "seed": 3,
    "defaults": {"reps": 3, "timeout": 900, "parallel": 1},
    "limits": {"memory": "128m", "cpus": 0.5},
    "arms": [{"name": "plain"}],
    "questions": [{"id": "sum", "prompt": "2+2?", "expect": ["4"]}],
    "prices": {"m": {"input": 1000, "output": 1000}},
    "budget": {"usd": 50},
}
COMMAND = ("run", "trial.yaml", "--model-script", "script.yaml", "--cluster", "local:2")
GO_ON = "then start the trial again to go on"


@pytest.fixture
def fresh(world: Any, call_model: str) -> Iterator[Any]:
    """The world without results."""
    agents = [{"name": "asks", "kind": "text", "command": f"{call_model}; {held_agents.WAIT}"}]
    world.write({**SPEC, "agents": agents})
    shutil.rmtree(world.out, ignore_errors=True)
    yield world
    world.end_started()
    shutil.rmtree(world.out, ignore_errors=True)


def in_its_middle(world: Any, held: Any) -> Any:
    """A trial of which one run is recorded, and two are under way and paid for."""
    process = world.start(*COMMAND)

    def alive() -> bool:
        assert process.poll() is None, process.communicate()
        return True

    held.may = held_agents.some(1)
    until(lambda: alive() and len(world.marks()) == 1, "a run recorded")
    until(lambda: alive() and len(held.agents()) == 2 and len(held.paid) == 3, "two under way")
    return process


def only_sentence(done: Any) -> str:
    """The last line of standard error, and the only one from `tiltyard` itself."""
    told = [line for line in done.err.splitlines() if line.startswith("tiltyard: ")]
    assert len(told) == 1, done.err
    assert done.err.splitlines()[-1] == told[0]
    return str(told[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_disk_that_fills_up_ends_the_trial_and_loses_nothing(fresh: Any) -> None:
    """What the nodes could not put there lies on their own disks, and is on record after the next start."""
    with (
        mounted(fresh.out, *small_disk("40m")),
        held_agents.HeldAgents(fresh.name, [fresh.engine], pay=True) as held,
    ):
        process = in_its_middle(fresh, held)
        before = fresh.marks()
        filler = fresh.out / ".filler"
        fill(filler)
        held.may = held_agents.everybody
        done = fresh.end(process)
        until(lambda: fresh.containers() == [], "containers removed")
        after = fresh.marks()
        filler.unlink()
        again = fresh(*COMMAND)
        result = read_result(FolderStore(fresh.out), "here")

    assert done.code == 69
    told = only_sentence(done)
    assert told.startswith(f"tiltyard: the results folder {fresh.out} cannot be used: ")
    assert told.endswith(f"make room there, {GO_ON}")
    assert after == before
    assert again.code == 0, again.err
    assert "3 of 3 runs recorded in trial-results: 3 passed" in again.out
    attempts = Counter((each.run_id, each.attempt) for each in (*result.records, *result.attempts))
    assert set(attempts) >= held.paid
    assert max(attempts.values()) == 1
    # A worker that was still starting when the trial was complete is ended; its guard removes what it had.
    until(lambda: fresh.leftovers() == [], "nothing left behind")


def test_a_folder_that_is_moved_is_not_made_again(fresh: Any) -> None:
    with held_agents.HeldAgents(fresh.name, [fresh.engine], pay=True) as held:
        process = in_its_middle(fresh, held)
        moved = fresh.folder / "moved"
        fresh.out.rename(moved)
        held.may = held_agents.everybody
        done = fresh.end(process)
        until(lambda: fresh.containers() == [], "containers removed")

    assert done.code == 69
    assert "put it back or name its new place with --out" in only_sentence(done)
    assert not fresh.out.exists()
    assert len(list(moved.rglob("run.json"))) == 1
    shutil.rmtree(moved)
