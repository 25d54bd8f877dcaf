"""A build container: files go in, commands run, and what came of it is committed as an image.

Settings of this machine (CA bundle, proxies) reach commands through their environment and one folder, which
is removed before the commit; the image keeps neither.
"""

import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import docker
from docker.errors import APIError, NotFound
from docker.models.containers import Container
from docker.types import LogConfig
from docker.types.daemon import CancellableStream

from tiltyard_images.hostenv import BUILD_DIR, CA_PATH, HostEnv
from tiltyard_images.keys import TAG_LENGTH, key_of
from tiltyard_images.lookup import Layer
from tiltyard_images.model import CREATED_BY, LABEL_CREATED_BY, LABEL_ROLE, REPOSITORY, WORKSPACE
from tiltyard_images.say import Throttled
from tiltyard_images.tars import of_bytes

LABEL_LOCK = "tiltyard.build-lock"
"""Path of the lock that the builder of a container holds: a free lock means a dead builder."""
MEMORY = "8g"
PIDS = 4096
LOG_LIMIT = 64 * 1024 * 1024
"""Bytes of one command's output that the log keeps."""
POLL_FIRST, POLL_LAST = 0.02, 0.5
DRAIN = 2.0
"""Seconds to wait for the rest of the output: a background process may hold the pipe for ever."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command for a build container."""

    argv: Sequence[str]
    env: Mapping[str, str]
    user: str = "0:0"


class BuildBox:
    """A running build container; use `build_box` to get one."""

    def __init__(self, client: docker.DockerClient, container: Container) -> None:
        self._api, self._container = client.api, container

    def put(self, folder: str, archive: IO[bytes] | bytes) -> None:
        """Unpack a tar archive in a folder of the container."""
        self._container.put_archive(folder, archive)

    def run(self, command: Command, log: IO[bytes], *, timeout: float, say: Throttled) -> int | None:
        """Run a command to its end; return its exit status, or None if it ran out of time."""
        exec_id = self._api.exec_create(
            self._container.id,
            list(command.argv),
            user=command.user,
            environment=dict(command.env),
            workdir=WORKSPACE,
        )["Id"]
        stream = self._api.exec_start(exec_id, stream=True)
        reader = threading.Thread(target=_copy, args=(stream, log, say), daemon=True)
        reader.start()
        status = self._wait(exec_id, timeout)
        reader.join(DRAIN)
        if reader.is_alive():
            _close(stream)
            reader.join(DRAIN)
        return status

    def _wait(self, exec_id: str, timeout: float) -> int | None:
        deadline, pause = time.monotonic() + timeout, POLL_FIRST
        while True:
            state: dict[str, Any] = self._api.exec_inspect(exec_id)
            if not state["Running"]:
                return int(state["ExitCode"]) if state["ExitCode"] is not None else -1
            if time.monotonic() > deadline:
                self._container.kill()
                return None
            time.sleep(pause)
            pause = min(2 * pause, POLL_LAST)

    def commit(self, layer: Layer) -> None:
        """Keep the container's file system, without this machine's settings, as the layer's image."""
        self._api.exec_start(
            self._api.exec_create(self._container.id, ["rm", "-rf", BUILD_DIR], user="0:0")["Id"]
        )
        repository, _, tag = layer.tag.partition(":")
        labels = [f'LABEL {name}="{value}"' for name, value in {**layer.labels(), LABEL_LOCK: ""}.items()]
        changes = [*labels, 'CMD ["bash"]', "USER agent", f"WORKDIR {WORKSPACE}"]
        self._container.commit(repository, tag, changes=changes)


def _copy(stream: "CancellableStream[bytes]", log: IO[bytes], say: Throttled) -> None:
    room = LOG_LIMIT
    try:
        for chunk in stream:
            log.write(chunk[: max(room, 0)])
            room -= len(chunk)
            say(chunk.decode(errors="replace"))
    except (OSError, ValueError, APIError):
        return  # the container was killed, or the log was closed on a process that holds the pipe
    finally:
        _close(stream)


def _close(stream: "CancellableStream[bytes]") -> None:
    """Wake whoever reads the stream, and free its socket, which docker-py would leave to the collector."""
    with suppress(OSError, ValueError, AttributeError):
        stream.close()
    with suppress(OSError, ValueError):
        stream._response.close()  # type: ignore[attr-defined]  # noqa: SLF001 - there is no public way


@contextmanager
def build_box(
    client: docker.DockerClient, parent: str, layer: Layer, *, lock: Path, env: HostEnv
) -> Iterator[BuildBox]:
    """Start a build container and remove it at the end, whatever happens.

    The caller holds `lock`: a container of the same name is what a killed builder left.
    """
    mine = key_of(socket.gethostname(), str(lock.resolve()))[:8]
    name = f"{REPOSITORY}-build-{layer.name}-{layer.key[:TAG_LENGTH]}-{mine}"
    _remove(client, name)
    container = client.containers.create(
        parent,
        ["sleep", "infinity"],
        name=name,
        user="0:0",
        labels={LABEL_CREATED_BY: CREATED_BY, LABEL_ROLE: "build", LABEL_LOCK: str(lock)},
        mem_limit=MEMORY,
        pids_limit=PIDS,
        log_config=LogConfig(type="none"),
    )
    try:
        container.start()
        box = BuildBox(client, container)
        if env.ca:
            box.put("/", of_bytes({CA_PATH.lstrip("/"): env.ca}))
        yield box
    finally:
        _remove(client, str(container.id))


def _remove(client: docker.DockerClient, name: str) -> None:
    try:
        client.containers.get(name).remove(force=True, v=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:  # noqa: PLR2004 - another removal is under way
            raise
