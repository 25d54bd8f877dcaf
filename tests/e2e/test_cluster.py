"""A trial on three Ray nodes, two of them with engines of their own, its results in S3: as on one machine,
and complete whatever is killed, hangs or is away.
"""

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import docker
import pytest

from tests import held_agents
from tiltyard_cluster.addresses import open_store
from tiltyard_cluster.local_cluster import LocalCluster
from tiltyard_cluster.node_engines import node_engines
from tiltyard_cluster.reading import ReadResult, read_result
from tiltyard_specs import RunRecord

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="engines in network namespaces need root"),
]


until = held_agents.until
SPEC: dict[str, Any] = {
    "seed": 3,
    "defaults": {"reps": 3, "timeout": 900, "parallel": 2},
    "limits": {"memory": "128m", "cpus": 0.5},
    "arms": [{"name": "plain"}, {"name": "docs", "env": {"MODE": "docs"}}],
    "questions": [
        {"id": "sum", "prompt": "2+2?", "expect": ["4"]},
        {"id": "other", "prompt": "1+3?", "expect": ["5"]},
    ],
    "prices": {"m": {"input": 1000, "output": 1000}},
    "budget": {"usd": 50},
}
TIMES = {"started_at", "seconds", "node"}


@dataclass
class Grid:
    """The cluster, its engines and the store."""

    cluster: LocalCluster
    engines: list[docker.DockerClient]
    s3: Any

    def hosts(self) -> list[str]:
        return [self.cluster.node(number).host for number in range(self.cluster.nodes)]

    def environ(self) -> dict[str, str]:
        return self.cluster.environ

    def containers(self, trial: str) -> list[str]:
        return [
            each["Id"]
            for engine in self.engines
            for each in engine.api.containers(all=True, filters={"label": f"tiltyard.trial={trial}"})
        ]

    def held(self, trial: str, *, pay: bool = False) -> Any:
        return held_agents.HeldAgents(trial, self.engines, pay=pay)

    @contextmanager
    def executions(self, trial: str) -> Iterator[list[tuple[str, int]]]:
        """While the block lasts, run and attempt of each container made for a run on any engine."""
        labels = [f"tiltyard.trial={trial}", "tiltyard.role=run"]
        made: list[tuple[str, int]] = []
        streams = [
            engine.events(filters={"event": "create", "label": labels}, decode=True)
            for engine in self.engines
        ]

        def listen(stream: Any) -> None:
            for event in stream:
                found = event["Actor"]["Attributes"]
                made.append((found["tiltyard.run"], int(found["tiltyard.attempt"])))

        threads = [threading.Thread(target=listen, args=(stream,), daemon=True) for stream in streams]
        for thread in threads:
            thread.start()
        try:
            yield made
        finally:
            time.sleep(0.5)
            for stream in streams:
                stream.close()
            for thread in threads:
                thread.join(10)


@pytest.fixture(scope="module")
def grid(engine: docker.DockerClient, s3_service: Any) -> Iterator[Grid]:
    soon = {"RAY_health_check_period_ms": "1000", "RAY_health_check_timeout_ms": "3000"}
    with ExitStack() as stack:
        environs = stack.enter_context(node_engines(2))
        cluster = stack.enter_context(LocalCluster(3, environs=(soon, *environs)))
        engines = [engine]
        for each in environs:
            engines.append(docker.DockerClient(each["DOCKER_HOST"], version="1.41"))
            stack.callback(engines[-1].close)
        yield Grid(cluster, engines, s3_service)


def compared(record: RunRecord) -> dict[str, Any]:
    """What must not depend on where a run happened."""
    found = {name: value for name, value in record.to_data().items() if name not in TIMES}
    found["metered"].pop("held_seconds", None)
    return found


def result_at(address: str) -> ReadResult:
    return read_result(open_store(address), address)


def dotted(grid: Grid, prefix: str) -> list[str]:
    """What of a driver's own is left in the bucket."""
    import boto3  # noqa: PLC0415

    client = boto3.client("s3", endpoint_url=grid.s3.endpoint)
    found = client.list_objects_v2(Bucket=grid.s3.bucket, Prefix=f"{prefix}/.")
    return [item["Key"] for item in found.get("Contents", [])]


def test_results_are_those_of_one_machine(world: Any, grid: Grid, call_model: str) -> None:
    """The same spec and seed: the same records but for times and nodes, from the same images."""
    agents = [{"name": "asks", "kind": "text", "command": f"{call_model}; {held_agents.WAIT}"}]
    world.write({**SPEC, "agents": agents})
    run = ("run", "trial.yaml", "--model-script", "script.yaml")
    out = f"s3://{grid.s3.bucket}/same"
    with grid.held(world.name) as held:
        held.may = held_agents.everybody
        local = world(*run, "--parallel", "6", "--out", "here")
        held.may = held_agents.nobody
        driver = world.start(
            *run, "--parallel", "1", "--out", out, "--cluster", grid.cluster.address, **grid.environ()
        )
        # Also on those that wait for images first.
        until(lambda: driver.poll() is not None or len(held.agents()) == 3, "an agent on each node")
        held.may = held_agents.everybody
        there = world.end(driver)
    told = there.err
    here, far = result_at(str(world.folder / "here")), result_at(out)

    assert (local.code, there.code) == (0, 0), there.err
    assert "images to nodes that lack them" in told
    assert len(far.records) == 12
    assert {record.node for record in far.records} == set(grid.hosts())
    expected = {record.run_id: compared(record) for record in here.records}
    assert {record.run_id: compared(record) for record in far.records} == expected
    assert far.attempts == ()
    assert far.receipt.order == here.receipt.order
    assert grid.containers(world.name) == []
    assert dotted(grid, "same") == []


def test_a_doctor_looks_at_every_node(world: Any, grid: Grid) -> None:
    out = f"s3://{grid.s3.bucket}/looked"
    found = world("cluster", "doctor", grid.cluster.address, "--out", out, **grid.environ())

    assert found.code == 0, found.out + found.err
    for node in grid.hosts():
        lines = [line for line in found.out.splitlines() if line.startswith(f"{node}  ")]
        for word in ("ray", "clock", "engine", "cache", "is seen from here"):
            assert any(word in line for line in lines), f"{word} of {node}: {found.out}"
    assert dotted(grid, "looked") == []


def test_a_wrong_token_is_told(world: Any, grid: Grid) -> None:
    environ = {**grid.environ(), "RAY_AUTH_TOKEN": "0" * 64}
    found = world("cluster", "doctor", grid.cluster.address, **environ)

    assert found.code == 69
    assert "does not let us in: give its token in RAY_AUTH_TOKEN_PATH" in found.err


def test_a_trial_ends_complete_whatever_is_killed_hangs_or_is_away(
    world: Any, grid: Grid, call_model: str
) -> None:
    """A node killed, the store away, the driver killed, a node that hangs: nothing twice, nothing lost."""
    agents = [{"name": "asks", "kind": "text", "command": f"{call_model}; {held_agents.WAIT}"}]
    defaults = {**SPEC["defaults"], "reps": 5}
    # Runs of its own: attempts are told apart by them, also from those of other tests beside this one.
    questions = [{**each, "prompt": f"{each['prompt']} {world.name}"} for each in SPEC["questions"]]
    world.write({**SPEC, "agents": agents, "defaults": defaults, "questions": questions}, "faults.yaml")
    prefix = f"faults-{os.getpid()}"
    out = f"s3://{grid.s3.bucket}/{prefix}"

    def start() -> Any:
        return world.start(
            "run", "faults.yaml", "--model-script", "script.yaml", "--out", out,
            "--cluster", grid.cluster.address, **grid.environ(),
        )  # fmt: skip

    def at_work(driver: Any, engine: int) -> set[tuple[str, int]]:
        """The attempts on one engine, once both of its slots have one whose agent has paid."""
        return until(lambda: _alive(driver) and held.paid_on(engine, 2), f"agents on engine {engine}")

    with grid.executions(world.name) as made, grid.held(world.name, pay=True) as held:
        driver = start()
        victims = at_work(driver, 1)
        grid.cluster.node(1).kill()
        with store_away(grid):
            # Of the killed node's, which may still be there, none can settle a run.
            held.may = held_agents.some(6 + len(victims))
            time.sleep(20)
        grid.cluster.start_node(1)
        until(lambda: _alive(driver) and len(settled(out)) >= 6, "six runs")
        held.may = held_agents.nobody
        victims |= {one.name for one in until(lambda: _alive(driver) and held.agents(), "agents at work")}
        driver.kill()
        driver.communicate()
        kept = settled(out)
        until(lambda: grid.containers(world.name) == [], "containers of a killed driver removed")

        driver = start()
        hung = at_work(driver, 2)
        (raylet,) = held_agents.of_session(grid.cluster.node(2).process.pid, "raylet")
        os.kill(raylet, signal.SIGSTOP)
        held.may = lambda one: one.engine != 2
        # Taken for lost, their runs begin anew elsewhere; then all go on, and both attempts end.
        until(lambda: _alive(driver) and _again(made, hung), "further attempts of what a hanging node has")
        held.may = held_agents.everybody
        done = world.end(driver)
        os.kill(raylet, signal.SIGCONT)
        until(lambda: grid.containers(world.name) == [], "no container left")
    result = result_at(out)
    records = {record.run_id: record for record in result.records}

    assert done.code == 0, done.err
    assert len(records) == 20
    assert len(kept) >= 6
    assert all(records[run_id].attempt == attempt for run_id, attempt in kept)
    assert max(Counter(made).values()) == 1
    told = [(each.run_id, each.attempt) for each in (*result.records, *result.attempts)]
    assert len(told) == len(set(told))
    assert set(told) >= {name for name in held.paid if name in set(made)}
    assert victims <= {(run, attempt) for run, attempt in made}
    spends = [each.metered for each in (*result.records, *result.attempts) if each.metered]
    paid = sum(spend.charged_usd or 0 for spend in spends)
    assert paid >= 0.11 * len(set(held.paid) & set(made)) - 1e-9
    until(
        lambda: [key for key in dotted(grid, prefix) if ".lock" not in key] == [], "nothing left in the store"
    )


def _alive(driver: Any) -> bool:
    """See that it has not ended while something is waited for."""
    assert driver.poll() is None, driver.communicate()
    return True


def _again(made: list[tuple[str, int]], names: set[tuple[str, int]]) -> bool:
    return any((run, attempt + 1) in made for run, attempt in names)


def settled(address: str) -> list[tuple[str, int]]:
    return [(record.run_id, record.attempt) for record in result_or_nothing(address)]


def result_or_nothing(address: str) -> tuple[RunRecord, ...]:
    from tiltyard_specs.errors import DataError  # noqa: PLC0415

    try:
        return result_at(address).records
    except DataError:
        return ()


@contextmanager
def store_away(grid: Grid) -> Iterator[None]:
    """The service hangs, as a machine that is cut off."""
    found = subprocess.run(
        ["pgrep", "-P", str(grid.s3.process.pid)], capture_output=True, text=True, check=True
    )
    pids = [int(pid) for pid in found.stdout.split()]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
