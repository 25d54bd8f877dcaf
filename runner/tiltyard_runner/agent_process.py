"""Runs the agent's command in its container, watches the limits, and ends it for certain."""

import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import docker.errors
import requests

from tiltyard_runner.container import AGENT_UID, Container, State
from tiltyard_runner.disk_watch import DiskWatch
from tiltyard_runner.errors import InfraError
from tiltyard_runner.job import Job, Place
from tiltyard_runner.output import Drain, OutputFiles
from tiltyard_runner.slot import Condition

MOST_WAITED = 600.0
"""Seconds for which held calls put a timeout off: whoever waits for an attempt can count on its end."""
_GRACE = 5.0
_STREAM_SECONDS = 60.0
"""How long what was printed before the end may take to arrive, on a machine that is busy."""
_TICK = 0.25
_POLL_FIRST = 0.005
_ASK_INTERVAL = 1.0
_BY_SIGKILL = 128 + 9
_REMOVAL_SECONDS = 2.0
_LINGER = 1.0
"""Seconds that a child which holds the output open may still add to it after the agent has ended."""


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """How the agent's process ended."""

    exit_code: int | None
    seconds: float
    timed_out: bool = False
    cancelled: bool = False
    oom_killed: bool = False
    disk_bytes: int | None = None
    """Size of the writable layer when it had passed the disk limit; `UNMEASURED` when it has none."""
    dropped: int = 0
    """Bytes of output beyond the limit."""
    flooded: bool = False
    """What the run sent broke its way to the meter."""
    broken: str | None = None
    """What went wrong with the engine or the container, which is not the agent's doing."""


class Process(Protocol):
    """The agent as the main process of its container, or as a further one."""

    def begin(self) -> Drain: ...  # noqa: D102
    def exit_code(self) -> int | None: ...  # noqa: D102
    def end(self) -> State: ...  # noqa: D102


class MainProcess:
    """The agent is the container's main process: the cheapest start."""

    def __init__(self, container: Container, files: OutputFiles) -> None:
        self._container = container
        self._files = files
        self._ended: State | None = None

    def begin(self) -> Drain:
        """Attach first: output from before that would be lost."""
        drain = Drain(self._container.attach(), self._files)
        drain.start()
        self._container.start()
        return drain

    def exit_code(self) -> int | None:
        """None while it runs."""
        if self._ended is None:
            state = self._container.state()
            self._ended = None if state.running else state
        return None if self._ended is None else self._ended.exit_code

    def end(self) -> State:
        """Nothing of the container runs when this returns: with its main process all others have ended."""
        if self._ended is None:
            return _killed(self._container)
        if self._ended.exit_code == _BY_SIGKILL and not self._ended.oom_killed:
            # Who removes a container kills it first. The agent's own doing looks the same, but stays there.
            time.sleep(_REMOVAL_SECONDS)
            return self._container.state()
        return self._ended


class ExecProcess:
    """The agent in a container that already runs, after its setup (`setup_scope: run`)."""

    def __init__(
        self, container: Container, files: OutputFiles, argv: tuple[str, ...], env: dict[str, str]
    ) -> None:
        self._container = container
        self._files = files
        self._exec = container.run(argv, user=AGENT_UID, env=env)

    def begin(self) -> Drain:
        """Start it."""
        drain = Drain(self._exec.stream(), self._files)
        drain.start()
        return drain

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._exec.exit_code()

    def end(self) -> State:
        """Nothing of the container runs when this returns."""
        return _killed(self._container)


def _killed(container: Container) -> State:
    container.end()
    return container.state()


class Watch:
    """Waits for the agent's end and brings it about when a limit is passed."""

    def __init__(self, job: Job, place: Place, container: Container) -> None:
        self._job = job
        self._place = place
        self._container = container
        self._disk = DiskWatch(container, job.bounds.disk)
        self._timed_out = self._cancelled = False
        self._disk_bytes: int | None = None
        self._interrupting: threading.Thread | None = None
        self._waited = 0.0

    def run(self, process: Process, files: OutputFiles) -> AgentEnd:
        """Start the process and see it through; nothing of it runs afterwards."""
        began = time.monotonic()
        drain = process.begin()
        self._wait(process, drain, began)
        seconds = time.monotonic() - began
        # While an interrupt hangs, so would every question about its container, and with it the kill.
        code = None if self._hangs() else process.exit_code()
        state = process.end()
        if self._disk_bytes is None:
            # Asked at the end too, however short the run.
            self._disk_bytes = self._disk.final()
        if not drain.wait(_STREAM_SECONDS):
            return AgentEnd(exit_code=code, seconds=seconds, broken="the output stream did not end")
        return self._end(code, state, seconds, files, drain.error)

    def _wait(self, process: Process, drain: Drain, began: float) -> None:
        pause, asked = _POLL_FIRST, time.monotonic()
        while True:
            silent = drain.wait(_TICK)
            if self._place.stop.is_set():
                self._cancelled = True
                return
            # The exit code decides: a child may hold the output open, and an agent may close its own.
            if silent or time.monotonic() - asked > _ASK_INTERVAL:
                asked = time.monotonic()
                if process.exit_code() is not None:
                    drain.wait(_LINGER)
                    return
            if self._is_over(time.monotonic() - began):
                self._timed_out = True
                self._interrupt(drain)
                return
            self._disk_bytes = self._disk.passed()
            if self._disk_bytes is not None:
                return
            if silent:
                time.sleep(pause)
                pause = min(2 * pause, _TICK)

    def _is_over(self, taken: float) -> bool:
        """Whether its time is up. While its calls are held back, it is not its time that passes."""
        if taken <= self._job.timeout + self._waited:
            return False
        waited = self._place.gateway.waited(self._place.slot.name)
        self._waited = min(waited, MOST_WAITED)
        return taken > self._job.timeout + self._waited

    def _interrupt(self, drain: Drain) -> None:
        # Some CLIs print their usage when they get SIGINT; they have a short grace for it. All processes get
        # it, as at a terminal: the engine's own signal would reach but the shell around the CLI.
        # An agent can stop that very process, and the engine would wait for it: nobody here does.
        self._interrupting = threading.Thread(target=self._signal, daemon=True, name="interrupt")
        self._interrupting.start()
        drain.wait(_GRACE)

    def _hangs(self) -> bool:
        if self._interrupting is None:
            return False
        self._interrupting.join(_GRACE)
        return self._interrupting.is_alive()

    def _signal(self) -> None:
        # There is no room for one more process where an agent used up its pids: it is killed next anyway.
        with suppress(docker.errors.DockerException, requests.RequestException, InfraError):
            # Read to its end as a stream: that closes its connection, also when the kill breaks it off.
            deque(self._container.run(["sh", "-c", "kill -INT -1"], user=AGENT_UID).stream(), maxlen=0)

    def _way(self, code: int | None) -> Condition:
        """How the slot's way to the meter stands, asked anew unless the last look at the disk told."""
        if code == 0 and self._disk_bytes is None and self._container.network_alive:
            self._place.slot.seen_alive()
            return "alive"
        return self._place.slot.condition()

    def _end(
        self, code: int | None, state: State, seconds: float, files: OutputFiles, error: Exception | None
    ) -> AgentEnd:
        broken = state.error or (f"the engine's output stream broke: {error}" if error else "")
        way = "alive" if broken else self._way(code)
        if way == "broken":
            broken = "the slot's way to the meter broke during the run"
        return AgentEnd(
            exit_code=code,
            seconds=seconds,
            timed_out=self._timed_out,
            cancelled=self._cancelled,
            oom_killed=state.oom_killed,
            disk_bytes=self._disk_bytes,
            dropped=files.dropped,
            broken=broken or None,
            flooded=way == "overwhelmed",
        )


def output_files(folder: Path, job: Job) -> OutputFiles:
    """The files that the agent's output goes to."""
    return OutputFiles(folder / "raw.out", folder / "raw.err", job.output_limit)
