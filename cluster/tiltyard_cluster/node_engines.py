"""Docker engines of one's own for the nodes of a cluster on one machine, each in a network namespace.

Two engines in one namespace flush each other's firewall rules. The sockets are files, so whoever talks to an
engine need not be in its namespace. Containers there reach no other network: what a sealed run needs.
"""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import docker
import docker.errors
import requests

from tiltyard_specs.errors import UnavailableError

_START_SECONDS = 120.0
_END_SECONDS = 10.0
_PATH = "/usr/sbin:/sbin:/usr/local/sbin"
_FIRST_NET = 40
"""Third number of the bridges' networks, 172.31.N.0/24; it only must not be doubled within a namespace."""


@contextmanager
def node_engines(count: int) -> Iterator[tuple[dict[str, str], ...]]:
    """Engines of their own, gone with all they hold afterwards.

    Yields:
        The variables that name each engine, for the processes of its node.

    Raises:
        UnavailableError: This is not root, something is not installed, or an engine does not start.
    """
    _require_tools()
    with ExitStack() as stack:
        started = [stack.enter_context(_launched(number)) for number in range(count)]
        for folder, process in started:
            _await_answer(folder, process)
        yield tuple({"DOCKER_HOST": _host(folder)} for folder, _ in started)


def _require_tools() -> None:
    if os.geteuid() != 0:
        raise UnavailableError("engines of their own for the nodes need root: run this with sudo")
    path = f"{os.environ.get('PATH', '')}:{_PATH}"
    for tool, package in (("dockerd", "docker.io"), ("ip", "iproute2"), ("nsenter", "util-linux")):
        if shutil.which(tool, path=path) is None:
            raise UnavailableError(f"{tool} is not installed: install it (`apt-get install {package}`)")


@contextmanager
def _launched(number: int) -> Iterator[tuple[Path, "subprocess.Popen[bytes]"]]:
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="ty-engine-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        space = f"tiltyard-{os.getpid()}-{number}-{secrets.token_hex(2)}"
        _run("ip", "netns", "add", space)
        stack.callback(_run, "ip", "netns", "delete", space)
        _run("ip", "-n", space, "link", "set", "lo", "up")
        with (folder / "dockerd.log").open("wb") as log:
            process = subprocess.Popen(
                [
                    "nsenter", f"--net=/run/netns/{space}", "dockerd",
                    "--host", _host(folder), "--data-root", str(folder / "data"),
                    "--exec-root", str(folder / "exec"), "--pidfile", str(folder / "pid"),
                    "--bip", f"172.31.{_FIRST_NET + number}.1/24",
                ],
                env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{_PATH}"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        stack.callback(_end, process)
        stack.callback(_remove_containers, folder)
        yield folder, process


def _await_answer(folder: Path, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _answers(folder):
        if process.poll() is not None or time.monotonic() > deadline:
            said = (folder / "dockerd.log").read_text(errors="replace").splitlines()[-3:]
            raise UnavailableError(f"a node's engine did not start: {' '.join(said)}")
        time.sleep(0.2)


def _answers(folder: Path) -> bool:
    if not (folder / "sock").exists():
        return False
    with suppress(docker.errors.DockerException, requests.RequestException, OSError):
        client = docker.DockerClient(_host(folder), version="1.41", timeout=10)
        try:
            return bool(client.ping())
        finally:
            client.close()
    return False


def _remove_containers(folder: Path) -> None:
    """An engine that ends with containers takes ten seconds for each to stop."""
    with suppress(docker.errors.DockerException, requests.RequestException, OSError):
        client = docker.DockerClient(_host(folder), version="1.41", timeout=30)
        try:
            for container in client.containers.list(all=True):
                container.remove(force=True, v=True)
        finally:
            client.close()


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _host(folder: Path) -> str:
    return f"unix://{folder}/sock"


def _run(*command: str) -> None:
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{_PATH}"},
    )
    if done.returncode != 0:
        raise UnavailableError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
