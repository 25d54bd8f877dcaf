"""The command line as a user meets it: a process, real containers, and a look at what is left afterwards."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from tiltyard_images import Image, ImageBuilder
from tiltyard_images.context import recipe_digest
from tiltyard_images.keys import key_of
from tiltyard_images.lookup import Layer, find
from tiltyard_images.pins import DEBIAN_SUITE, NODE_WHEEL
from tiltyard_images.recipes import workspace_key

TILTYARD = str(Path(sys.executable).with_name("tiltyard"))
_PATH = {"PATH": f"{Path(TILTYARD).parent}:{os.environ['PATH']}"}
"""Finds the command, so that its hints name it by its bare name."""
collect_ignore = ["leaking_agent.py", "dying_driver.py"]
"""Programs that tests start."""
PATIENCE = 300.0

CALL_MODEL = """\
python3 -c '
import json, os, urllib.request
body = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
request = urllib.request.Request(url, json.dumps(body).encode(), headers)
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
'"""
"""An agent that asks the model once and prints the answer."""
MODEL_SCRIPT = {"conversations": [{"turns": [{"text": "It is 4.", "usage": {"input": 100, "output": 10}}]}]}


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str


@dataclass
class World:
    """A folder with a spec, and a temporary folder of its own in which nothing may be left."""

    folder: Path
    temporary: Path
    engine: docker.DockerClient
    name: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def out(self) -> Path:
        return self.folder / "trial-results"

    def write(self, spec: dict[str, Any], name: str = "trial.yaml") -> Path:
        """Write a spec whose trial has this world's name."""
        path = self.folder / name
        path.write_text(yaml.safe_dump({"name": self.name, **spec}, sort_keys=False))
        return path

    def start(self, *args: str, **environ: str) -> "subprocess.Popen[str]":
        """Start a command without waiting for it."""
        process = subprocess.Popen(
            [TILTYARD, *args],
            cwd=self.folder,
            env=os.environ | _PATH | {"TMPDIR": str(self.temporary)} | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def __call__(self, *args: str, **environ: str) -> Done:
        """Run a command to its end."""
        return self.end(self.start(*args, **environ))

    @staticmethod
    def end(process: "subprocess.Popen[str]") -> Done:
        out, err = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in err, err
        return Done(process.returncode, out, err)

    def end_started(self) -> None:
        """End what a failed test has left: the tests after it must not fail with it."""
        for process in self.started:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=PATIENCE)
        self.started.clear()

    def records(self) -> dict[str, dict[str, Any]]:
        """Every run.json by its folder below runs/."""
        runs = self.out / "runs"
        return {
            path.parent.relative_to(runs).as_posix(): json.loads(path.read_text())
            for path in sorted(runs.rglob("run.json"))
        }

    def attempts(self) -> dict[str, dict[str, Any]]:
        """Every attempt.json by its folder below runs/."""
        runs = self.out / "runs"
        return {
            path.parent.relative_to(runs).as_posix(): json.loads(path.read_text())
            for path in sorted(runs.rglob("attempt.json"))
        }

    def receipt(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.out / "trial.json").read_text())
        return data

    def marks(self) -> dict[str, tuple[int, int]]:
        """Inode and time of each record: what has not been written again has the same."""
        runs = self.out / "runs"
        marks = {}
        for path in runs.rglob("run.json"):
            status = path.stat()
            marks[path.parent.relative_to(runs).as_posix()] = (status.st_ino, status.st_mtime_ns)
        return marks

    def under_way(self) -> int:
        """How many attempts have begun and not ended."""
        return len(list((self.out / ".staging").glob("*/begun.json")))

    @contextmanager
    def executions(self) -> Iterator[list[str]]:
        """While the block lasts, the run id of each container made for a run of this trial.

        As the engine tells, and listened to live, because it remembers few events.
        """
        labels = [f"tiltyard.trial={self.name}", "tiltyard.role=run"]
        client = docker.from_env()
        stream = client.events(filters={"event": "create", "label": labels}, decode=True)
        made: list[str] = []

        def listen() -> None:
            made.extend(event["Actor"]["Attributes"]["tiltyard.run"] for event in stream)

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            yield made
        finally:
            time.sleep(0.5)
            stream.close()
            listener.join()
            client.close()

    def containers(self) -> list[str]:
        """Ids of all containers of this trial, in any state."""
        found = self.engine.api.containers(all=True, filters={"label": f"tiltyard.trial={self.name}"})
        return [container["Id"] for container in found]

    def leftovers(self) -> list[str]:
        """All that a trial may have left outside its results."""
        networks = [item.name for item in self.engine.networks.list() if self.name in str(item.attrs)]
        inside = [path.name for path in self.out.glob(".*") if path.name != ".lock"]
        half = [path.name for path in self.out.rglob(".tmp-*")]
        outside = [path.name for path in self.temporary.iterdir()]
        return [*self.containers(), *networks, *inside, *half, *outside]


def wait_for(condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def until() -> Callable[..., None]:
    return wait_for


@pytest.fixture(scope="session")
def call_model() -> str:
    return CALL_MODEL


@pytest.fixture(scope="session")
def furnish(engine: docker.DockerClient, cache_dir: Path) -> Callable[[docker.DockerClient], None]:
    """Gives another engine what a trial of text agents finds built: tiny images under real ones' names."""
    return lambda client: _furnish(client, engine, cache_dir)


def _furnish(client: docker.DockerClient, real: docker.DockerClient, cache: Path) -> None:
    system = _tiny_system()

    def put(layer: Layer) -> Image:
        repository, _, tag = layer.tag.partition(":")
        changes = [f'LABEL {name}="{value}"' for name, value in layer.labels().items()]
        client.api.import_image_from_data(system, repository=repository, tag=tag, changes=changes)
        image = find(client, layer)
        assert image is not None
        return image

    rootfs = put(Layer("rootfs", key_of("rootfs", DEBIAN_SUITE)))
    base = put(Layer("base", key_of("base", rootfs.key, recipe_digest("base"), NODE_WHEEL), rootfs))
    put(Layer("workspace", workspace_key(base, None, writable=False, history="none"), base))
    forwarder = ImageBuilder(real, cache).forwarder()
    client.images.load(b"".join(real.images.get(forwarder.tag).save(named=True)))


def _tiny_system() -> bytes:
    """A file system of a shell and `sleep`, from this machine."""
    files = {"/bin/sh", "/bin/sleep"}
    for program in tuple(files):
        listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        files |= {word for word in listing.split() if word.startswith("/")}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as archive:
        for file in sorted(files):
            archive.add(Path(file).resolve(), arcname=file)
        for folder, mode in (("workspace", 0o755), ("tmp", 0o1777), ("home/agent", 0o777)):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            archive.addfile(entry)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, request: pytest.FixtureRequest
) -> Iterator[World]:
    """One world for a module: its tests share the trial in it."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "script.yaml").write_text(yaml.safe_dump(MODEL_SCRIPT))
    temporary = Path(tempfile.mkdtemp(prefix="ty-", dir="/tmp"))
    name = f"e2e-{request.module.__name__.rpartition('.')[2].replace('_', '-')}-{os.getpid()}"
    world = World(folder, temporary, engine, name)
    yield world
    world.end_started()
    for container in world.containers():
        engine.api.remove_container(container, force=True, v=True)
    shutil.rmtree(temporary, ignore_errors=True)
