"""A slot: the sealed network in which runs happen one after the other.

One small forwarder container holds the network namespace and the way to the meter; a run's container joins
it. The agent sees the meter at 127.0.0.1 and nothing else; forwarder and socket are out of its reach.
"""

import math
import time
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import docker
import docker.errors

from tiltyard_runner.container import Bounds, Container, ContainerPlan
from tiltyard_runner.owner import Owner

GATEWAY_PORT = 8484
GATEWAY_URL = f"http://127.0.0.1:{GATEWAY_PORT}"
_SOCKET_FOLDER = "/run/tiltyard"
_NOBODY = 65_534
# It uses 17 MiB itself; what the kernel holds for 512 sockets that nobody reads is counted as its own too.
_BOUNDS = Bounds(cpus=1, memory=512 << 20, pids=16, disk=1 << 20)
Condition = Literal["alive", "overwhelmed", "broken"]
"""overwhelmed: it broke by itself, which only what a run sends through it can bring about."""
_FRESH = 1.0
"""Seconds for which a look at the forwarder holds: a run that follows another need not look again."""
_ENDED_FROM_OUTSIDE = frozenset({0, 128 + 9, 128 + 15})


class Slot:
    """One place for runs on this node; holds its forwarder from `__enter__` to `__exit__`."""

    def __init__(  # each is a part of the slot's identity
        self,
        client: docker.DockerClient,
        *,
        name: str,
        image: str,
        socket_folder: Path,
        owner: Owner,
        trial: str,
        sealed: bool,
    ) -> None:
        self.name = name
        self.sealed = sealed
        """Whether runs here reach nothing but the meter."""
        self._client = client
        self._plan = ContainerPlan(
            image=image,
            argv=("/forwarder", str(GATEWAY_PORT)),
            labels=owner.labels(trial=trial, role="forwarder"),
            bounds=_BOUNDS,
            user=_NOBODY,
            workdir="/",
            network="none" if sealed else "bridge",
            binds=(f"{socket_folder}:{_SOCKET_FOLDER}:ro",),
        )
        self._forwarder: Container | None = None
        self._seen_alive = -math.inf

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def network(self) -> str:
        """The network mode of a run's container; a forwarder that died is replaced first."""
        if time.monotonic() - self._seen_alive > _FRESH and not self.alive():
            # Never restarted in place: a new start would get a new namespace under the old id.
            self._close()
            self._open()
        assert self._forwarder is not None  # noqa: S101  # _open has just set it
        return f"container:{self._forwarder.id}"

    def _open(self) -> None:
        forwarder = Container(self._client, self._plan)
        forwarder.__enter__()
        try:
            forwarder.start()
        except BaseException:
            forwarder.__exit__(None, None, None)
            raise
        self._forwarder = forwarder

    def _close(self) -> None:
        if self._forwarder is not None:
            self._forwarder.__exit__(None, None, None)
            self._forwarder = None

    def alive(self) -> bool:
        """Whether the forwarder runs. A run that outlived it had no way to its model."""
        return self.condition() == "alive"

    def seen_alive(self) -> None:
        """The engine has just said of the forwarder that it runs."""
        self._seen_alive = time.monotonic()

    def condition(self) -> Condition:
        """How the forwarder stands."""
        condition = self._condition()
        self._seen_alive = time.monotonic() if condition == "alive" else -math.inf
        return condition

    def _condition(self) -> Condition:
        try:
            state = None if self._forwarder is None else self._forwarder.state()
        except docker.errors.NotFound:
            return "broken"
        if state is None:
            return "broken"
        if state.running:
            return "alive"
        by_itself = state.oom_killed or state.exit_code not in _ENDED_FROM_OUTSIDE
        return "overwhelmed" if by_itself else "broken"
