"""A trial on three Ray nodes, two of them with engines of their own, its results in S3: as on one machine,
and complete whatever is killed, hangs or is away.
"""

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from tiltyard_cluster.addresses import open_store
from tiltyard_cluster.local_cluster import LocalCluster
from tiltyard_cluster.node_engines import node_engines
from tiltyard_cluster.process_tree import session_members
from tiltyard_cluster.reading import ReadResult, read_result
from tiltyard_specs import RunRecord

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="engines in network namespaces need root"),
]

SPEC: dict[str, Any] = {
    "seed": 3,
    "defaults": {"reps": 3, "timeout": 120, "parallel": 2},
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
        return [node.host for node in self.cluster.started]

    def environ(self) -> dict[str, str]:
        return self.cluster.environ

    def containers(self, trial: str) -> list[str]:
        return [
            each["Id"]
            for engine in self.engines
            for each in engine.api.containers(all=True, filters={"label": f"tiltyard.trial={trial}"})
        ]

    def under_way(self, trial: str, *, node: int | None = None) -> int:
        """Agents that run now, on one engine or on all."""
        label = [f"tiltyard.trial={trial}", "tiltyard.role=run"]
        engines = self.engines if node is None else [self.engines[node]]
        return sum(len(engine.api.containers(filters={"label": label})) for engine in engines)

    @contextmanager
    def executions(self, trial: str) -> Iterator[list[tuple[str, str]]]:
        """While the block lasts, run and attempt of each container made for a run on any engine."""
        labels = [f"tiltyard.trial={trial}", "tiltyard.role=run"]
        made: list[tuple[str, str]] = []
        streams = [
            engine.events(filters={"event": "create", "label": labels}, decode=True)
            for engine in self.engines
        ]

        def listen(stream: Any) -> None:
            for event in stream:
                found = event["Actor"]["Attributes"]
                made.append((found["tiltyard.run"], found["tiltyard.attempt"]))

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
    # Long enough for the nodes that wait for images to come to their turn.
    agents = [{"name": "asks", "kind": "text", "command": f"{call_model}; sleep 4"}]
    world.write({**SPEC, "agents": agents})
    run = ("run", "trial.yaml", "--model-script", "script.yaml")
    local = world(*run, "--parallel", "6", "--out", "here")
    out = f"s3://{grid.s3.bucket}/same"
    there = world(*run, "--parallel", "1", "--out", out, "--cluster", grid.cluster.address, **grid.environ())
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
    assert "RAY_AUTH_TOKEN" in found.err


@pytest.mark.node_faults
def test_a_trial_ends_complete_whatever_is_killed_hangs_or_is_away(
    world: Any, grid: Grid, call_model: str, until: Callable[..., None]
) -> None:
    """A node killed, the store away, the driver killed, a node that hangs: nothing twice, nothing lost."""
    agents = [{"name": "asks", "kind": "text", "command": f"{call_model}; sleep 4"}]
    world.write({**SPEC, "agents": agents, "defaults": {**SPEC["defaults"], "reps": 6}}, "faults.yaml")
    prefix = f"faults-{os.getpid()}"
    out = f"s3://{grid.s3.bucket}/{prefix}"
    command = (
        "run", "faults.yaml", "--model-script", "script.yaml", "--out", out,
        "--cluster", grid.cluster.address,
    )  # fmt: skip
    with grid.executions(world.name) as made:
        driver = world.start(*command, **grid.environ())
        until(lambda: driver.poll() is not None or grid.under_way(world.name, node=1) > 0, "agents there")
        assert driver.poll() is None, driver.communicate()
        grid.cluster.started[1].kill()
        with store_away(grid):
            time.sleep(20)
        grid.cluster.start_node(1)
        until(lambda: len(settled(out)) >= 6, "six runs")
        driver.kill()
        driver.communicate()
        kept = settled(out)
        until(lambda: grid.containers(world.name) == [], "containers of a killed driver removed")
        driver = world.start(*command, **grid.environ())
        until(lambda: driver.poll() is not None or grid.under_way(world.name, node=2) > 0, "agents there")
        assert driver.poll() is None, driver.communicate()
        hung = [pid for pid in session_members(grid.cluster.started[2].process.pid) if comm(pid) == "raylet"]
        os.kill(hung[0], signal.SIGSTOP)
        done = world.end(driver)
        os.kill(hung[0], signal.SIGCONT)
    result = result_at(out)
    records = {record.run_id: record for record in result.records}

    assert done.code == 0, done.err
    assert len(records) == 24
    assert len(kept) >= 6
    assert all(records[run_id].attempt == attempt for run_id, attempt in kept)
    assert max(Counter(made).values()) == 1
    told = [(each.run_id, str(each.attempt)) for each in (*result.records, *result.attempts)]
    assert len(told) == len(set(told))
    assert set(told) >= set(made)
    paid = sum(each.metered.charged_usd or 0 for each in (*result.records, *result.attempts) if each.metered)
    assert paid >= 0.11 * len(records)
    until(lambda: grid.containers(world.name) == [], "no container left")
    until(
        lambda: [key for key in dotted(grid, prefix) if ".lock" not in key] == [], "nothing left in the store"
    )


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


def comm(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
