"""What a killed driver leaves is removed at the next start; what a living one uses is not."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from tiltyard_images import ImageBuilder
from tiltyard_runner.owner import Owner
from tiltyard_runner.reaper import reap, remove

DRIVER = """
import sys, time
from tiltyard_images import connect
from tiltyard_runner.container import Container, ContainerPlan
from tiltyard_runner.owner import Owner
labels = Owner.current().labels(trial="reaper-test", role="run", run="r", attempt=1)
plan = ContainerPlan(image=sys.argv[1], argv=("sleep", "300"), labels=labels)
with Container(connect(), plan) as container:
    container.start()
    print(container.id, flush=True)
    time.sleep(300)
"""


@pytest.fixture
def driver(image_builder: ImageBuilder) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that runs a container."""
    argv = [sys.executable, "-c", DRIVER, image_builder.base().id]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.mark.engine
def test_only_the_containers_of_a_dead_driver_are_removed(
    engine: docker.DockerClient, driver: subprocess.Popen[str]
) -> None:
    assert driver.stdout is not None
    left = driver.stdout.readline().strip()
    reap(engine)
    assert engine.containers.get(left).status == "running", "its driver lives"
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert engine.containers.get(left).status == "running", "nobody has cleaned up"
    assert reap(engine) >= 1
    with pytest.raises(docker.errors.NotFound):
        engine.containers.get(left)
    assert not remove(engine, left), "removing it again is no error"


@pytest.mark.engine
def test_containers_of_other_machines_and_other_people_stay(
    engine: docker.DockerClient, image_builder: ImageBuilder
) -> None:
    elsewhere = replace(_dead(), machine="another-host:boot:pid")
    strangers: list[dict[str, str]] = [
        elsewhere.labels(trial="reaper-test", role="run"),
        {"tiltyard.owner": "x"},
        {"tiltyard.owner": Owner.current().machine, "tiltyard.pid": "not-a-number"},
        {"somebody": "else"},
    ]
    made = [
        engine.api.create_container(image_builder.base().id, ["true"], labels=labels)["Id"]
        for labels in strangers
    ]
    mine = engine.api.create_container(
        image_builder.base().id, ["true"], labels=_dead().labels(trial="reaper-test", role="run")
    )["Id"]
    try:
        reap(engine)
        present = {found["Id"] for found in engine.api.containers(all=True)}
        assert set(made) <= present
        assert mine not in present, "one that never started is removed too"
    finally:
        for container_id in [*made, mine]:
            remove(engine, container_id)


def test_this_process_is_alive_and_a_pid_with_another_start_is_not() -> None:
    me = Owner.current()
    assert not me.is_dead()
    assert replace(me, started=str(int(me.started) + 1)).is_dead()
    assert not replace(me, started="1", machine="another").is_dead()


def test_a_zombie_counts_as_dead() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        stat = _stat(process.pid)
        owner = Owner(machine=Owner.current().machine, pid=process.pid, started=stat)
        assert not owner.is_dead()
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert owner.is_dead(), "it is still in the table of processes"


def test_labels_name_their_owner_again() -> None:
    me = Owner.current()
    labels = me.labels(trial="t", role="run", run="r", attempt=2)
    assert Owner.from_labels(labels) == me
    assert (labels["tiltyard.run"], labels["tiltyard.attempt"], labels["tiltyard.role"]) == ("r", "2", "run")
    nobody: list[dict[str, Any]] = [
        {},
        {"tiltyard.owner": "m"},
        {"tiltyard.owner": "m", "tiltyard.pid": "x:1"},
    ]
    assert [Owner.from_labels(labels) for labels in nobody] == [None, None, None]


def _dead() -> Owner:
    with subprocess.Popen(["true"]) as process:
        started = _stat(process.pid)
    return Owner(machine=Owner.current().machine, pid=process.pid, started=started)


def _stat(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
