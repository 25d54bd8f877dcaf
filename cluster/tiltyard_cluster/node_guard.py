"""A process beside each worker of a cluster that outlives it, and takes away what the worker could not.

A Ray worker may be killed without a word: by the end of its node, of the cluster's head, or of the driver.
Its containers would go on, and cost. The guard waits for the end of a pipe that only the worker holds.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import docker.errors
import requests

from tiltyard_gateway.process import helper_environment
from tiltyard_images import connect
from tiltyard_runner.owner import OWNER, PID, Owner
from tiltyard_runner.reaper import remove
from tiltyard_specs.errors import UnavailableError

PATIENCE = 120.0
"""Seconds for an engine that is away."""
_QUIET = 3
"""Looks in a row that must find nothing: the engine may still be making what it was asked for last."""
_PAUSE = 1.0
_END = b"end\n"
_FAILURES = (docker.errors.DockerException, requests.RequestException, UnavailableError, OSError)


class NodeGuard:
    """Starts the guard of this process, and lets it go without work at a clean end.

    Args:
        folders: What is to be removed as well, such as that of the gateway's sockets.
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        owner = Owner.current()
        facts = {
            "machine": owner.machine,
            "pid": owner.pid,
            "started": owner.started,
            "folders": [str(folder) for folder in self._folders],
        }
        engine = {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tiltyard_cluster.node_guard"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=helper_environment(os.environ, sys.path) | engine,
            # Whoever kills the worker's session must not kill the guard with it.
            start_new_session=True,
        )
        # It has forked and gone when this returns: the guard itself is nobody's child.
        self._process.wait()
        self._say(json.dumps(facts).encode() + b"\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._say(_END)
        if self._process is not None and self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def _say(self, line: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(line)
                self._process.stdin.flush()


def main() -> None:
    """Wait for the end of the worker, then sweep."""
    if os.fork():
        # A Ray worker that is told to end kills its children first: they could sweep nothing after it.
        os._exit(0)
    facts = json.loads(sys.stdin.buffer.readline() or b"{}")
    if not facts or sys.stdin.buffer.readline() == _END:
        return
    owner = Owner(facts["machine"], facts["pid"], facts["started"])
    _await_end(owner)
    _sweep(owner)
    for folder in facts["folders"]:
        shutil.rmtree(folder, ignore_errors=True)


def _await_end(owner: Owner) -> None:
    deadline = time.monotonic() + PATIENCE
    while not owner.is_dead() and time.monotonic() < deadline:
        time.sleep(_PAUSE / 10)


def _sweep(owner: Owner) -> None:
    deadline = time.monotonic() + PATIENCE
    quiet = 0
    while quiet < _QUIET and time.monotonic() < deadline:
        quiet = quiet + 1 if _look(owner) == 0 else 0
        time.sleep(_PAUSE)


def _look(owner: Owner) -> int:
    """Remove what is there; how many there were, or were not to be seen."""
    labels = owner.labels(trial="", role="")
    wanted = [f"{name}={labels[name]}" for name in (OWNER, PID)]
    try:
        client = connect()
    except _FAILURES:
        return 1
    try:
        found = client.api.containers(all=True, filters={"label": wanted})
        for each in found:
            remove(client, each["Id"])
    except _FAILURES:
        return 1
    finally:
        client.close()
    return len(found)


if __name__ == "__main__":
    main()
