"""Sees one command through in a container that runs: setup and verify, bounded in time, output and disk."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltyard_runner.container import Container, Exec
from tiltyard_runner.disk_watch import DiskWatch
from tiltyard_runner.errors import InfraError
from tiltyard_runner.output import Drain, OutputFiles

_TICK = 0.25
_POLL_FIRST = 0.005
_LINGER = 1.0
"""Seconds of silence after which an output is over whose command has ended: a child may hold it open."""
_LONGEST = 10.0
"""Seconds in which its first piece must have come."""


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """A shell command and what it may use."""

    command: str
    user: int
    env: Mapping[str, str]
    timeout: float
    output_limit: int
    disk: int
    """Bytes that the container's writable layer may hold."""


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How it ended. A command that was given up may still run: remove its container."""

    exit_code: int | None
    seconds: float
    timed_out: bool = False
    stopped: bool = False
    """The user stopped everything."""
    disk_bytes: int | None = None
    """Size of the writable layer when it had passed the limit; `UNMEASURED` when it has none."""


def run_command(container: Container, plan: CommandPlan, *, log: Path, stop: threading.Event) -> CommandEnd:
    """Run it by `sh -c`, with both its streams in one log.

    Raises:
        InfraError: The engine's stream broke.
    """
    # One pipe for both streams: the engine's two would lose their order.
    argv = ["sh", "-c", 'exec sh -c "$0" 2>&1', plan.command]
    process = container.run(argv, user=plan.user, env=plan.env)
    with OutputFiles(log, log, plan.output_limit) as files:
        drain = Drain(process.stream(), files)
        drain.start()
        return _Watch(container, plan, stop).until_end(process, drain)


class _Watch:
    def __init__(self, container: Container, plan: CommandPlan, stop: threading.Event) -> None:
        self._disk = DiskWatch(container, plan.disk)
        self._plan = plan
        self._stop = stop
        self._began = time.monotonic()

    def until_end(self, process: Exec, drain: Drain) -> CommandEnd:
        pause = _POLL_FIRST
        while True:
            silent = drain.wait(_TICK)
            if drain.error is not None:
                raise InfraError(f"the engine's output stream broke: {drain.error}")
            # The exit code decides: a child may hold the output open, and a command may close its own.
            if (code := process.exit_code()) is not None:
                drain.linger(_LINGER, _LONGEST)
                return CommandEnd(code, self._elapsed())
            if (given_up := self._given_up()) is not None:
                return given_up
            if silent:
                time.sleep(pause)
                pause = min(2 * pause, _TICK)

    def _given_up(self) -> CommandEnd | None:
        if self._stop.is_set():
            return CommandEnd(None, self._elapsed(), stopped=True)
        if self._elapsed() > self._plan.timeout:
            return CommandEnd(None, self._elapsed(), timed_out=True)
        size = self._disk.passed()
        return None if size is None else CommandEnd(None, self._elapsed(), disk_bytes=size)

    def _elapsed(self) -> float:
        return time.monotonic() - self._began
