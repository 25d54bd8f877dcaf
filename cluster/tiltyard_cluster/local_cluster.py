"""A Ray cluster on this machine: several nodes, each with an address of its own on loopback.

For trials of the cluster itself, for demos and for tests. With engines of their own, in network namespaces of
their own, the nodes share nothing but the machine.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tiltyard_cluster.process_tree import kill_session
from tiltyard_specs.errors import UnavailableError

START_SECONDS = 180.0
_TRIES = 3
_FIRST_HOST = 2
_MOST = 64
_STARTED = "Ray runtime started"
_STORE_BYTES = 100 * 1024 * 1024
_LONGEST_FOLDER = 40
"""Characters: Ray's socket names add some 60, and the system allows 107."""


def ray_environment(token: str) -> dict[str, str]:
    """Settings of every Ray process: quiet, with authentication, and several nodes on one machine.

    A node that hangs is given up after some 20 s; a machine that is merely slow must not seem to hang.
    """
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1",
        "RAY_health_check_period_ms": "2000",
        "RAY_health_check_timeout_ms": "4000",
        "RAY_health_check_failure_threshold": "4",
    }


def _some_network() -> str:
    """A part of loopback that no other cluster here is likely to have: Ray takes the same ports on each."""
    return f"127.{1 + secrets.randbelow(254)}.{secrets.randbelow(256)}"


@dataclass(slots=True)
class LocalRayNode:
    """One node."""

    number: int
    host: str
    """Its address on loopback."""
    process: "subprocess.Popen[bytes]"
    log: Path

    def kill(self) -> None:
        """Kill everything of it, as a machine that loses power."""
        kill_session(self.process.pid)
        self.process.wait()


@dataclass(slots=True)
class LocalCluster:
    """Starts the nodes at `__enter__` and ends them at `__exit__`.

    Attributes:
        nodes: How many.
        environs: Further variables for the processes of each node, such as DOCKER_HOST.
        port: Where the head listens; 0 for any free port.
    """

    nodes: int
    environs: tuple[Mapping[str, str], ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(32))
    port: int = 0
    started: list[LocalRayNode] = field(default_factory=list)
    address: str = ""
    """Where a driver connects to."""
    _network: str = field(default_factory=_some_network)
    _folder: Path = field(default=Path())
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Start every node, one after the other: of two that start at once on one machine one may hang.

        Raises:
            UnavailableError: Ray is not installed, or a node does not start.
        """
        require_ray()
        if not 1 <= self.nodes <= _MOST:
            raise UnavailableError(f"a cluster of {self.nodes} nodes: between 1 and {_MOST} fit a machine")
        with ExitStack() as stack:
            self._folder = _short_folder()
            stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
            stack.callback(self._end)
            for number in range(self.nodes):
                self.start_node(number)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def environ(self) -> dict[str, str]:
        """What a driver needs to connect."""
        return ray_environment(self.token)

    def node(self, number: int) -> LocalRayNode:
        """The node of this number that was started last."""
        return next(node for node in reversed(self.started) if node.number == number)

    def start_node(self, number: int) -> LocalRayNode:
        """Start one more node, or one in the place of one that was killed.

        Raises:
            UnavailableError: It does not start.
        """
        node = self._launch(number)
        # Ray gives a node up that is slow on a busy machine: it is tried again.
        for _ in range(_TRIES - 1):
            try:
                _wait_started(node)
            except UnavailableError:
                self.started.remove(node)
                node = self._launch(number)
            else:
                return node
        _wait_started(node)
        return node

    def _launch(self, number: int) -> LocalRayNode:
        host = f"{self._network}.{_FIRST_HOST + number}"
        if not self.address:
            self.address = f"{host}:{self.port or _free_port(host)}"
        own = self.environs[number] if number < len(self.environs) else {}
        log = self._folder / f"node-{number}-{secrets.token_hex(2)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                self._command(number, host),
                env={**os.environ, **self.environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        node = LocalRayNode(number, host, process, log)
        self.started.append(node)
        return node

    def _command(self, number: int, host: str) -> list[str]:
        # No processors on offer: nothing of ours asks Ray for one, and each would be a process in waiting.
        common = [
            f"--node-ip-address={host}", f"--object-store-memory={_STORE_BYTES}", "--num-cpus=0", "--block",
            f"--labels={json.dumps({'tiltyard-node': str(number)})}",
        ]  # fmt: skip
        start = [sys.executable, "-m", "tiltyard_cluster.ray_start"]
        if number > 0:
            return [*start, f"--address={self.address}", *common]
        port = self.address.rpartition(":")[2]
        return [
            *start, "--head", f"--port={port}", f"--temp-dir={self._folder}", "--include-dashboard=false",
            "--disable-usage-stats", *common,
        ]  # fmt: skip

    def _end(self) -> None:
        """End all of them at once: whoever worked on them has taken his things away before."""
        for node in reversed(self.started):
            node.kill()


def require_ray() -> None:
    """See that Ray is installed.

    Raises:
        UnavailableError: It is not.
    """
    from importlib.util import find_spec  # noqa: PLC0415

    if find_spec("ray") is None:
        raise UnavailableError("a cluster needs Ray: install Tiltyard with `pip install 'tiltyard[cluster]'`")


def _wait_started(node: LocalRayNode) -> None:
    deadline = time.monotonic() + START_SECONDS
    while _STARTED not in node.log.read_text(errors="replace"):
        if node.process.poll() is not None or time.monotonic() > deadline:
            node.kill()
            words = " ".join(node.log.read_text(errors="replace").split())[-400:]
            raise UnavailableError(f"the Ray node at {node.host} did not start: {words}")
        time.sleep(0.1)


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _short_folder() -> Path:
    parent = Path(tempfile.gettempdir())
    if len(str(parent)) > _LONGEST_FOLDER:
        parent = Path("/tmp")  # noqa: S108  # mkdtemp makes a private folder in it
    return Path(tempfile.mkdtemp(prefix="ty-ray-", dir=parent))
