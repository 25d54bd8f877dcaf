"""An engine that is killed and comes back, and one that is stopped and does not, in the middle of a trial.

It is the test's own, in namespaces of its own, with tiny images under the names of the real ones.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import docker
import pytest

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("dockerd") or not shutil.which("unshare"),
        reason="an engine in namespaces of its own needs root, dockerd and unshare",
    ),
]
SCRIPT = Path(__file__).parents[2] / "infra" / "engine.sh"
IMPATIENT = """
from tiltyard_cli.main import main
from tiltyard_cluster import engine_watch
engine_watch.await_engine.__defaults__ = (2.0,)
main(["run", "trial.yaml"])
"""
"""The command, which gives an engine up sooner."""
SPEC: dict[str, Any] = {
    "defaults": {"reps": 2, "timeout": 60, "parallel": 1},
    "limits": {"memory": "64m"},
    "arms": [{"name": "plain"}],
    "agents": [{"name": "four", "kind": "text", "command": "sleep 2; echo 4"}],
    "questions": [{"id": "sum", "prompt": "2+2?", "expect": ["4"]}],
}


class Engine:
    """An engine of one's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.host = f"unix://{root}/docker.sock"
        self.environ = {"DOCKER_HOST": self.host, "TILTYARD_CACHE": str(root / "cache")}

    def start(self) -> None:
        env = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"} | {
            "TILTYARD_ENGINE_ROOT": str(self.root),
            "TILTYARD_ENGINE_ARGS": "--bridge=none --iptables=false --shutdown-timeout 1",
        }
        done = subprocess.run(
            ["unshare", "--net", "--mount", str(SCRIPT)],
            env=env, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    def end(self, number: int) -> None:
        """Signal it and see it gone."""
        self._end(self.root / "docker.pid", number)

    def remove(self) -> None:
        self.end(signal.SIGTERM)
        self._end(self.root / "exec/containerd/containerd.pid", signal.SIGTERM)
        shutil.rmtree(self.root, ignore_errors=True)

    @staticmethod
    def _end(pid_file: Path, number: int) -> None:
        if not pid_file.exists():
            return
        pid, deadline = int(pid_file.read_text()), time.monotonic() + 60
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        while _runs(pid):
            assert time.monotonic() < deadline, "the engine does not end"
            time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module")
def other(furnish: Callable[[docker.DockerClient], None]) -> Iterator[Engine]:
    made = Engine(Path(tempfile.mkdtemp(prefix="ty-", dir="/tmp")))
    made.start()
    try:
        with closing(docker.DockerClient(made.host)) as client:
            furnish(client)
        yield made
    finally:
        made.remove()


def left(other: Engine) -> list[str]:
    with closing(docker.DockerClient(other.host)) as client:
        return [found["Id"] for found in client.api.containers(all=True)]


def at_work(other: Engine) -> bool:
    filters = {"label": "tiltyard.role=run", "status": "running"}
    with closing(docker.DockerClient(other.host)) as client:
        return len(client.api.containers(filters=filters)) == 1


def test_an_engine_that_is_killed_and_comes_back(
    world: Any, other: Engine, until: Callable[..., None]
) -> None:
    """The run under way is lost and tried again; the trial goes on by itself."""
    world.write(SPEC)
    process = world.start("run", "trial.yaml", **other.environ)
    until(lambda: len(world.marks()) == 1 and at_work(other), "a run under way")
    before = world.marks()
    other.end(signal.SIGKILL)
    other.start()
    done = world.end(process)

    assert done.code == 0, done.err
    assert "2 of 2 runs recorded in trial-results: 2 passed" in done.out
    assert world.marks().items() >= before.items()
    assert [attempt["outcome"] for attempt in world.attempts().values()] == ["infra"]
    assert left(other) == []
    assert world.leftovers() == []


def test_an_engine_that_is_stopped_for_good(world: Any, other: Engine, until: Callable[..., None]) -> None:
    """The trial stops as well, and no run is recorded as lost; with an engine again it goes on."""
    shutil.rmtree(world.out)
    process = subprocess.Popen(
        [sys.executable, "-c", IMPATIENT],
        cwd=world.folder,
        env=os.environ | {"TMPDIR": str(world.temporary)} | other.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    world.started.append(process)
    until(lambda: len(world.marks()) == 1 and at_work(other), "a run under way")
    before = world.marks()
    other.end(signal.SIGTERM)
    done = world.end(process)
    stopped = world.marks()
    other.start()
    again = world("run", "trial.yaml", **other.environ)

    assert done.code == 69, done.err
    told = done.err.splitlines()[-1]
    assert told.startswith("tiltyard: the container engine does not answer any more: ")
    assert told.endswith("start the engine, then start the trial again to go on")
    assert stopped == before
    assert again.code == 0, again.err
    assert "2 of 2 runs recorded in trial-results: 2 passed" in again.out
    assert left(other) == []
    assert world.leftovers() == []


@pytest.mark.skipif(not shutil.which("mmdebstrap"), reason="mmdebstrap is not installed")
def test_a_base_image_that_cannot_be_had_here(world: Any, other: Engine) -> None:
    """Neither a registry nor a package mirror answers: nothing begins, and the sentence says what to do."""
    shutil.rmtree(world.out, ignore_errors=True)
    world.write(SPEC)
    with closing(docker.DockerClient(other.host)) as client:
        for layer in ("workspace", "base", "rootfs"):
            for image in client.images.list(f"tiltyard/{layer}"):
                client.images.remove(image.id, force=True)
    nowhere = {"TILTYARD_DEBIAN_MIRROR": "http://127.0.0.1:9/debian", "TILTYARD_OFFLINE": "1"}
    done = world("run", "trial.yaml", **other.environ | nowhere)

    assert done.code == 69, done.err
    assert "tiltyard: mmdebstrap could not make bookworm" in done.err
    assert "A mirror can be named by TILTYARD_DEBIAN_MIRROR" in done.err
    assert world.records() == {}
    assert left(other) == []
    assert world.leftovers() == []


def test_without_an_engine_nothing_begins(world: Any) -> None:
    world.write(SPEC)
    done = world("run", "trial.yaml", DOCKER_HOST=f"unix://{world.folder}/none.sock")

    assert done.code == 69
    assert done.err.splitlines()[-1].startswith("tiltyard: No Docker engine answers at unix://")
