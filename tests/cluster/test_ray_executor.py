"""The executor of a Ray cluster keeps the contract, and what only a cluster has to keep."""

import importlib.util
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker.errors
import pytest

from tiltyard_cluster.budget import Spending
from tiltyard_cluster.local_cluster import LocalCluster
from tiltyard_cluster.options import cache_folder
from tiltyard_cluster.process_tree import session_members
from tiltyard_cluster.ray_cluster import ClusterWork, cluster_executor
from tiltyard_cluster.ray_session import RaySession
from tiltyard_images import ImageBuilder
from tiltyard_specs import Outcome, RunRecord

pytestmark = [pytest.mark.engine, pytest.mark.slow]

_SPEC = importlib.util.spec_from_file_location(
    "executor_contract", Path(__file__).with_name("executor_contract.py")
)
assert _SPEC
assert _SPEC.loader
contract = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(contract)


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
EIGHT = {"reps": 4, "timeout": 60, "parallel": 2}


def claims(trial: Any) -> list[dict[str, Any]]:
    """The attempts that are claimed now, while others come and go."""
    texts = [trial.store.get(key) for key in keys_now(trial) if key.endswith("/begun.json")]
    return [json.loads(text) for text in texts if text is not None]


def keys_now(trial: Any) -> list[str]:
    """All objects below runs/, read again when a folder vanishes meanwhile."""
    while True:
        with suppress(FileNotFoundError):
            return list(trial.store.list("runs/"))


def workers(trial: Any) -> dict[str, int]:
    """The process of each node's worker that runs an agent now, by the name in its attempts' claims."""
    labels = [f"tiltyard.trial={trial.name}", "tiltyard.role=run"]
    found = {}
    for each in trial.engine.api.containers(filters={"label": labels}):
        run, attempt = each["Labels"]["tiltyard.run"], each["Labels"]["tiltyard.attempt"]
        for claim in claims(trial):
            if claim["run_id"] == run and str(claim["attempt"]) == attempt:
                found[claim["node"]] = int(each["Labels"]["tiltyard.pid"].partition(":")[0])
    return found


def second_host(cluster: LocalCluster) -> str:
    """The name of the second node."""
    return cluster.started[1].host


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Do something beside the block; its failure is the test's."""
    failures: list[BaseException] = []

    def act() -> None:
        try:
            action()
        except BaseException as error:
            failures.append(error)
            raise

    thread = threading.Thread(target=act)
    thread.start()
    yield
    thread.join()
    assert not failures, failures


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
    contract.wait_for(lambda: trial.containers() == [], f"containers of {trial.name} removed")
    assert not list(trial.out.rglob("begun.json"))


def test_blocks_stay_together_on_one_of_several_nodes(tmp_path, engine, start, cluster) -> None:
    """Both arms of a block run back to back in one slot; records name different nodes."""
    trial = contract.Prepared(tmp_path, engine, agents=SLOW, defaults=EIGHT)
    with start(trial, contract.never) as executor:
        done = contract.finish(executor, trial.blocks())
    blocks: dict[str, list[Any]] = {}
    for each in sorted(done, key=lambda each: each.record.started_at):
        blocks.setdefault(each.planned.block, []).append(each)

    assert_complete(trial, done)
    assert {each.record.node for each in done} == {node.host for node in cluster.started}
    for first, second in blocks.values():
        assert first.record.node == second.record.node
        assert first.planned.position + 1 == second.planned.position


@pytest.mark.node_faults
def test_a_worker_that_is_killed_loses_its_attempts_only(tmp_path, engine, start) -> None:
    """They stand on record, their runs are done again, and the guard removes the containers."""
    trial = contract.Prepared(tmp_path, engine, agents=SLOW, defaults=EIGHT)

    def kill() -> None:
        contract.wait_for(lambda: bool(workers(trial)), "a worker at work")
        os.kill(next(iter(workers(trial).values())), signal.SIGKILL)

    with start(trial, contract.never) as executor, meanwhile(kill):
        done = contract.finish(executor, trial.blocks())
    lost = [each for each in done if each.record.outcome is Outcome.INFRA]

    assert_complete(trial, done)
    assert lost
    assert all("was lost" in each.record.reason and not each.final for each in lost)
    for each in lost:
        (final,) = [one for one in done if one.final and one.planned == each.planned]
        assert final.record.attempt == each.record.attempt + 1


@pytest.mark.node_faults
def test_a_node_that_is_killed_is_done_without(tmp_path, engine, start, cluster) -> None:
    """All its processes at once; a node that comes in its place works along."""
    trial = contract.Prepared(tmp_path, engine, agents=SLOW, defaults={**EIGHT, "reps": 8})

    def kill() -> None:
        contract.wait_for(lambda: second_host(cluster) in workers(trial), "a worker at work")
        cluster.started[1].kill()
        cluster.start_node(1)

    with start(trial, contract.never) as executor, meanwhile(kill):
        done = contract.finish(executor, trial.blocks())

    assert_complete(trial, done)
    assert any(each.record.node == second_host(cluster) and not each.final for each in done)


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

    assert {each.record.node for each in paid} == {node.host for node in cluster.started}
    assert {each.record.outcome for each in paid} == {Outcome.PASSED}
    assert len(paid) == 18
    assert charged(trial) <= 3.0
    assert charged(trial) == pytest.approx(0.11 * len(paid))
    assert spending.exhausted()


@pytest.mark.node_faults
def test_spend_of_a_worker_that_is_killed_is_on_record(tmp_path, engine, start) -> None:
    """What its attempts had paid stands in theirs, once a worker comes in its place and finds their calls."""
    trial = contract.Prepared(
        tmp_path,
        engine,
        script=ANSWERS,
        agents=[{"name": "asks", "kind": "text", "command": f"{ASKS}; sleep 8"}],
        defaults={"reps": 1, "timeout": 120, "parallel": 2},
        prices=PRICES,
        budget={"usd": 5},
    )
    cache = cache_folder(os.environ) / "cluster"
    runs = {run.run_id for run in trial.resolved.plan.runs}

    def paid() -> bool:
        """Whether the meter has written a call of this trial down."""
        files = cache.glob("*/*/*/calls.jsonl")
        return any(file.parent.name.partition(".")[0] in runs and file.stat().st_size for file in files)

    def kill() -> None:
        contract.wait_for(lambda: paid() and bool(workers(trial)), "a call that was paid")
        os.kill(next(iter(workers(trial).values())), signal.SIGKILL)

    with start(trial, contract.never) as executor, meanwhile(kill):
        done = contract.finish(executor, trial.blocks())
    lost = [each for each in done if not each.final]

    assert_complete(trial, done)
    assert lost
    assert any(each.record.metered and each.record.metered.incomplete for each in lost), lost
    for each in lost:
        attempt = trial.out / "runs" / f"sum/{each.planned.arm}/asks/1/attempts/1/attempt.json"
        spend = json.loads(attempt.read_text())["metered"]
        assert spend is None or spend["cost_usd"] == pytest.approx(0.11)
    assert charged(trial) >= 0.33


WAITS = [{"name": "four", "kind": "text", "command": "until test -e /tmp/go; do sleep 0.2; done; echo 4"}]


def let_go(trial: Any, attempt: int | None = None, *, without: int = 0) -> None:
    """Let the agents that wait go on: those of this attempt or all, but not those of one worker."""
    labels = [f"tiltyard.trial={trial.name}", "tiltyard.role=run"]
    for each in trial.engine.api.containers(filters={"label": labels}):
        worker = int(each["Labels"]["tiltyard.pid"].partition(":")[0])
        if attempt in {None, int(each["Labels"]["tiltyard.attempt"])} and worker != without:
            with suppress(docker.errors.APIError):
                trial.engine.containers.get(each["Id"]).exec_run(["touch", "/tmp/go"])


@pytest.mark.node_faults
def test_a_node_that_hangs_and_comes_back_settles_nothing_twice(tmp_path, engine, start, cluster) -> None:
    """Its worker goes on and ends first: that is the run's record; the second attempt is kept beside it."""
    defaults = {"reps": 3, "timeout": 300, "parallel": 2}
    trial = contract.Prepared(tmp_path, engine, agents=WAITS, arms=[{"name": "plain"}], defaults=defaults)
    node, over = cluster.started[-1], threading.Event()

    def hang() -> None:
        contract.wait_for(lambda: second_host(cluster) in workers(trial), "a worker at work")
        hung = workers(trial)[second_host(cluster)]
        (raylet,) = [pid for pid in session_members(node.process.pid) if comm(pid) == "raylet"]
        os.kill(raylet, signal.SIGSTOP)
        try:
            contract.wait_for(lambda: any("is lost" in str(event) for event in trial.events), "given up")
            while not any(claim["attempt"] == 2 for claim in claims(trial)):
                let_go(trial, attempt=1, without=hung)
            while sum(key.endswith("/run.json") for key in keys_now(trial)) < 3:
                let_go(trial, attempt=1)
        finally:
            os.kill(raylet, signal.SIGCONT)
            while not over.wait(0.5):
                let_go(trial)

    with meanwhile(hang):
        with start(trial, contract.never) as executor:
            done = contract.finish(executor, trial.blocks())
        over.set()
    node.kill()
    cluster.start_node(1)
    late = [each for each in done if each.final and each.record.node == second_host(cluster)]
    second = [each for each in done if each.record.attempt == 2]

    assert_complete(trial, done)
    assert late
    assert {each.record.attempt for each in done if each.final} == {1}
    assert second
    assert all(each.record.outcome is Outcome.PASSED and not each.final for each in second)


def comm(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
