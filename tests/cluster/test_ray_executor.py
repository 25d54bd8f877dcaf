"""The executor of a Ray cluster keeps the contract, and what only a cluster has to keep."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests import held_agents
from tests.cluster import executor_contract as contract
from tiltyard_cluster.budget import Spending
from tiltyard_cluster.local_cluster import LocalCluster
from tiltyard_cluster.ray_cluster import ClusterWork, cluster_executor
from tiltyard_cluster.ray_session import RaySession
from tiltyard_images import ImageBuilder
from tiltyard_specs import Outcome, RunRecord

pytestmark = [pytest.mark.engine, pytest.mark.slow]


HeldAgents, until, meanwhile = held_agents.HeldAgents, held_agents.until, held_agents.meanwhile


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two nodes, of which one that hangs is given up soon."""
    soon = {"RAY_health_check_period_ms": "1000", "RAY_health_check_timeout_ms": "3000"}
    with LocalCluster(2, environs=(soon,)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(cluster: LocalCluster) -> Iterator[RaySession]:
    with RaySession(cluster.address, cluster.environ) as session:
        yield session


@pytest.fixture
def start(session: RaySession, image_builder: ImageBuilder) -> Callable[..., Any]:
    """An executor for a prepared trial."""

    def make(trial: Any, enough: Any, **changes: Any) -> Any:
        work = ClusterWork(
            trial.trial,
            trial.store,
            str(trial.out),
            trial.options,
            image_builder.forwarder().id,
            **changes,
        )
        return cluster_executor(session, work, trial.runs(), enough)

    return make


class TestRayExecutor(contract.ExecutorContract):  # type: ignore[misc, name-defined]
    @pytest.fixture
    def start(self, start):
        return start


SLOW = [{"name": "four", "kind": "text", "command": "sleep 2; echo 4"}]
WAITS = [{"name": "four", "kind": "text", "command": f"{held_agents.WAIT}; echo 4"}]
EIGHT = {"reps": 4, "timeout": 600, "parallel": 2}


def claims(trial: Any) -> list[dict[str, Any]]:
    """The attempts that are claimed now, while others come and go."""
    texts = [trial.store.get(key) for key in keys_now(trial) if key.endswith("/begun.json")]
    return [json.loads(text) for text in texts if text is not None]


def keys_now(trial: Any) -> list[str]:
    """All objects below runs/, read again when a folder vanishes meanwhile."""
    while True:
        with suppress(FileNotFoundError):
            return list(trial.store.list("runs/"))


def node_of(trial: Any, agent: Any) -> str | None:
    """The name of the node on which an attempt runs, as its claim says."""
    names = {(claim["run_id"], claim["attempt"]): claim["node"] for claim in claims(trial)}
    return names.get(agent.name)


def asked_of_ray() -> Any:
    """The request that an autoscaler of the cluster would find."""
    from ray.experimental.internal_kv import _internal_kv_get  # noqa: PLC0415

    return json.loads(_internal_kv_get("autoscaler_resource_request") or b"[]")


def assert_complete(trial: Any, done: list[Any]) -> None:
    """Every run is settled once, all attempts are told of, and nothing is left."""
    finals = [each for each in done if each.final]
    assert Counter(each.planned.run_id for each in finals) == {
        run.run_id: 1 for run in trial.resolved.plan.runs
    }
    assert {each.record.outcome for each in finals} == {Outcome.PASSED}
    attempts = [
        (each.record.run_id, each.record.attempt, each.record.outcome is Outcome.PASSED) for each in done
    ]
    assert len(attempts) == len(set(attempts))
    until(lambda: trial.containers() == [], f"containers of {trial.name} removed")
    assert not list(trial.out.rglob("begun.json"))


def test_blocks_stay_together_on_one_of_several_nodes(tmp_path, engine, start, cluster) -> None:
    """Both arms of a block run back to back in one slot; records name different nodes."""
    trial = contract.Prepared(tmp_path, engine, agents=SLOW, defaults=EIGHT)
    asked: list[Any] = []
    with (
        start(trial, contract.never) as executor,
        meanwhile(lambda: asked.extend(until(asked_of_ray, "asked"))),
    ):
        done = contract.finish(executor, trial.blocks())
    blocks: dict[str, list[Any]] = {}
    for each in sorted(done, key=lambda each: each.record.started_at):
        blocks.setdefault(each.planned.block, []).append(each)

    assert_complete(trial, done)
    # An autoscaler would have brought nodes for the open blocks, and may take them away now.
    assert 1 <= len(asked) <= len(blocks)
    assert all(bundle == {"CPU": 0.5} for bundle in asked)
    until(lambda: asked_of_ray() == [], "the request withdrawn")
    assert {each.record.node for each in done} == {cluster.node(0).host, cluster.node(1).host}
    for first, second in blocks.values():
        assert first.record.node == second.record.node
        assert first.planned.position + 1 == second.planned.position


def test_a_node_that_is_killed_is_done_without(tmp_path, engine, start, cluster) -> None:
    """All its processes at once; a node that comes in its place works along."""
    trial = contract.Prepared(tmp_path, engine, agents=WAITS, defaults=EIGHT)
    second, victims = cluster.node(1).host, set()

    def kill() -> None:
        there = until(lambda: [one for one in held.agents() if node_of(trial, one) == second], "agents there")
        victims.update(agent.name for agent in there)
        cluster.node(1).kill()
        cluster.start_node(1)
        until(
            lambda: any((node_of(trial, one) or "").startswith(f"{second}#") for one in held.agents()),
            "agents on the node in its place",
        )
        held.may = held_agents.everybody

    with (
        HeldAgents(trial.name, [engine]) as held,
        start(trial, contract.never) as executor,
        meanwhile(kill),
    ):
        done = contract.finish(executor, trial.blocks())
    lost = {(each.record.run_id, each.record.attempt): each for each in done if not each.final}

    assert_complete(trial, done)
    assert victims <= set(lost)
    assert {lost[name].record.node for name in victims} == {second}
    assert any(each.final and each.record.node.startswith(f"{second}#") for each in done)


ASKS = """\
python3 -c '
import json, os, urllib.request
body = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
request = urllib.request.Request(url, json.dumps(body).encode(), headers)
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
'"""
ANSWERS = {"conversations": [{"turns": [{"text": "It is 4.", "usage": {"input": 100, "output": 10}}]}]}
PRICES = {"m": {"input": 1000, "output": 1000}}


def charged(trial: Any) -> float:
    """What all attempts together have charged the budget."""
    paths = [*trial.out.rglob("run.json"), *trial.out.rglob("attempt.json")]
    spends = [json.loads(path.read_text())["metered"] or {} for path in paths]
    return sum(spend.get("charged_usd") or 0.0 for spend in spends)


def test_one_budget_holds_over_all_nodes(tmp_path, engine, start, cluster) -> None:
    """A call reserves 1.12 dollars and costs 11 cents: of 3 dollars 18 can be paid, on whatever nodes."""
    trial = contract.Prepared(
        tmp_path,
        engine,
        script=ANSWERS,
        agents=[{"name": "asks", "kind": "text", "command": ASKS}],
        defaults={"reps": 10, "timeout": 120, "parallel": 2},
        prices=PRICES,
        budget={"usd": 3},
    )
    spending = Spending(trial.trial.spec.budget)

    def enough(record: RunRecord) -> bool:
        spending.end(record)
        return spending.exhausted() is not None

    with start(trial, enough) as executor:
        done = contract.finish(executor, trial.blocks())
    paid = [each for each in done if each.final]

    assert {each.record.node for each in paid} == {cluster.node(0).host, cluster.node(1).host}
    assert {each.record.outcome for each in paid} == {Outcome.PASSED}
    assert len(paid) == 18
    assert charged(trial) <= 3.0
    assert charged(trial) == pytest.approx(0.11 * len(paid))
    assert spending.exhausted()


def test_a_worker_that_is_killed_loses_its_attempts_only(tmp_path, engine, start) -> None:
    """They stand on record with what they had paid, their runs are done again, and their containers go."""
    trial = contract.Prepared(
        tmp_path,
        engine,
        script=ANSWERS,
        agents=[{"name": "asks", "kind": "text", "command": f"{ASKS}; {held_agents.WAIT}"}],
        # Runs of its own: their journals are told apart from those of other tests beside this one.
        questions=[{"id": "sum", "prompt": f"2+2? {tmp_path} {os.getpid()}", "expect": ["4"]}],
        defaults={"reps": 2, "timeout": 600, "parallel": 2},
        prices=PRICES,
        budget={"usd": 40},
    )
    victims: set[tuple[str, int]] = set()
    paid: set[tuple[str, int]] = set()

    def kill() -> None:
        worker = until(lambda: [one for one in held.agents() if one.name in held.paid], "a paid call")[
            0
        ].worker
        victims.update(one.name for one in held.agents() if one.worker == worker)
        paid.update(victims & held.paid)
        os.kill(worker, signal.SIGKILL)
        held.may = lambda one: one.worker != worker

    with (
        HeldAgents(trial.name, [engine], pay=True) as held,
        start(trial, contract.never) as executor,
        meanwhile(kill),
    ):
        done = contract.finish(executor, trial.blocks())
    lost = {(each.record.run_id, each.record.attempt): each for each in done if not each.final}
    finals = {each.record.run_id: each.record.attempt for each in done if each.final}

    assert_complete(trial, done)
    assert victims <= set(lost)
    for run, attempt in victims:
        assert "was lost: its worker" in lost[run, attempt].record.reason
        assert finals[run] > attempt
    assert any(one.record.metered and one.record.metered.incomplete for one in lost.values())
    assert paid
    for name in paid:
        planned = lost[name].planned
        folder = trial.out / f"runs/sum/{planned.arm}/asks/{planned.rep}/attempts/{name[1]}"
        spend = json.loads((folder / "attempt.json").read_text())["metered"]
        assert spend["cost_usd"] == pytest.approx(0.11)
    assert charged(trial) >= 0.11 * (len(finals) + len(paid)) - 1e-9


def test_a_node_that_hangs_and_comes_back_settles_nothing_twice(tmp_path, engine, start, cluster) -> None:
    """Its worker goes on and ends first: that is the run's record; the second attempt is kept beside it."""
    defaults = {"reps": 3, "timeout": 600, "parallel": 2}
    trial = contract.Prepared(tmp_path, engine, agents=WAITS, arms=[{"name": "plain"}], defaults=defaults)
    node = cluster.node(1)

    def hang() -> None:
        there = until(
            lambda: [one for one in held.agents() if node_of(trial, one) == node.host], "agents there"
        )
        hung = there[0].worker
        (raylet,) = held_agents.of_session(node.process.pid, "raylet")
        os.kill(raylet, signal.SIGSTOP)
        try:
            until(lambda: any(f"{node.host} is lost" in str(event) for event in trial.events), "given up")
            # Others make room for the second attempts, which wait until the first ones have settled the runs.
            held.may = lambda one: one.attempt == 1 and one.worker != hung
            until(lambda: any(one.attempt == 2 for one in held.agents()), "a second attempt")
            held.may = lambda one: one.attempt == 1
            until(lambda: sum(key.endswith("/run.json") for key in keys_now(trial)) == 3, "all runs settled")
        finally:
            os.kill(raylet, signal.SIGCONT)
            held.may = held_agents.everybody

    with (
        HeldAgents(trial.name, [engine]) as held,
        start(trial, contract.never) as executor,
        meanwhile(hang),
    ):
        done = contract.finish(executor, trial.blocks())
    late = [each for each in done if each.final and each.record.node == node.host]
    second = [each for each in done if each.record.attempt == 2]

    assert_complete(trial, done)
    assert late
    assert {each.record.attempt for each in done if each.final} == {1}
    assert second
    assert all(each.record.outcome is Outcome.PASSED and not each.final for each in second)
