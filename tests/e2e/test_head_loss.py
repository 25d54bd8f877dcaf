"""A trial whose cluster loses its head in the middle: what is said, what is kept, and how it goes on."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import held_agents
from tiltyard_cluster.addresses import open_store
from tiltyard_cluster.process_tree import kill_session
from tiltyard_cluster.reading import ReadResult, read_result
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError

pytestmark = [pytest.mark.engine, pytest.mark.slow]


until = held_agents.until
SPEC: dict[str, Any] = {
    "seed": 3,
    "defaults": {"reps": 3, "timeout": 900, "parallel": 2},
    "limits": {"memory": "128m", "cpus": 0.5},
    "arms": [{"name": "plain"}, {"name": "docs", "prompt_suffix": "Briefly."}],
    "prices": {"m": {"input": 1000, "output": 1000}},
    "budget": {"usd": 50},
}


def heads(driver: int) -> list[int]:
    """The process of the head that a driver has started; its session is the whole node."""
    children = Path(f"/proc/{driver}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    return [pid for pid in pids if b"--head" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]


def result_at(address: str) -> ReadResult | None:
    try:
        return read_result(open_store(address), address)
    except DataError:
        return None


def paid_attempts(result: ReadResult, held: Any) -> list[Any]:
    """The records of the attempts of which a call was seen."""
    return [each for each in (*result.records, *result.attempts) if (each.run_id, each.attempt) in held.paid]


def left_in(store: Store) -> list[str]:
    """What of a driver's own, and of attempts under way, is left in the store."""
    return [key for key in store.list("") if key.startswith(".") or key.endswith("/begun.json")]


def test_a_lost_head_is_told_and_the_next_start_goes_on(world: Any, s3_service: Any, call_model: str) -> None:
    agents = [{"name": "asks", "kind": "text", "command": f"{call_model}; {held_agents.WAIT}"}]
    # Runs of its own: attempts are told apart by them, also from those of other tests beside this one.
    questions = [{"id": "sum", "prompt": f"2+2? {world.name}", "expect": ["4"]}]
    world.write({**SPEC, "agents": agents, "questions": questions})
    out = f"s3://{s3_service.bucket}/head-{os.getpid()}"
    command = ("run", "trial.yaml", "--model-script", "script.yaml", "--out", out, "--cluster", "local:2")
    with held_agents.HeldAgents(world.name, [world.engine], pay=True) as held:
        driver = world.start(*command)

        def alive() -> bool:
            assert driver.poll() is None, driver.communicate()
            return True

        held.may = held_agents.some(2)
        until(lambda: alive() and (found := result_at(out)) and len(found.records) == 2, "two runs")
        # Two or three: that depends on whose blocks those two were.
        until(lambda: alive() and len(held.agents()) >= 2 and len(held.paid) >= 4, "more under way")
        (head,) = heads(driver.pid)
        kill_session(head)
        lost = world.end(driver)
        kept = {record.run_id: record for record in result_at(out).records}
        until(lambda: world.containers() == [], "containers removed")
        until(lambda: list(world.temporary.iterdir()) == [], "sockets and files of the cluster removed")

        held.may = held_agents.everybody
        done = world(*command)
    result = result_at(out)
    told = [(each.run_id, each.attempt) for each in (*result.records, *result.attempts)]

    assert lost.code == 69
    (sentence,) = [line for line in lost.err.splitlines() if line.startswith("tiltyard: ")]
    assert "the head of the Ray cluster at 127." in sentence
    assert "finished runs are kept" in sentence
    assert "the same command goes on" in sentence
    assert done.code == 0, done.err
    assert {record.run_id: record for record in result.records}.items() >= kept.items()
    assert len(kept) == 2
    assert len(result.records) == 6
    assert max(Counter(told).values()) == 1
    assert set(told) >= held.paid
    costs = {each.to_json(): each.metered and each.metered.cost_usd for each in paid_attempts(result, held)}
    assert costs == dict.fromkeys(costs, pytest.approx(0.11)), lost.err + done.err
    assert world.containers() == []
    assert list(world.temporary.iterdir()) == []
    assert left_in(open_store(out)) == []
