"""Runs the agent's command in its container, watches the limits, and ends it for certain."""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import docker.errors

from tiltyard_runner.container import AGENT_UID, Container, State
from tiltyard_runner.job import Job, Place
from tiltyard_runner.output import Drain, OutputFiles

_GRACE = 5.0
_TICK = 0.25
_POLL_FIRST = 0.005
_ASK_INTERVAL = 1.0
_DISK_INTERVAL = 1.0
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
    """Size of the writable layer when it had passed the disk limit."""
    dropped: int = 0
    """Bytes of output beyond the limit."""
    broken: str | None = None
    """What went wrong with the engine or the container, which is not the agent's doing."""


class Process(Protocol):
    """The agent as the main process of its container, or as a further one."""

    def begin(self) -> Drain: ...  # noqa: D102
    def exit_code(self) -> int | None: ...  # noqa: D102


class MainProcess:
    """The agent is the container's main process: the cheapest start."""

    def __init__(self, container: Container, files: OutputFiles) -> None:
        self._container = container
        self._files = files

    def begin(self) -> Drain:
        """Attach first: output from before that would be lost."""
        drain = Drain(self._container.attach(), self._files)
        drain.start()
        self._container.start()
        return drain

    def exit_code(self) -> int | None:
        """None while it runs."""
        state = self._container.state()
        return None if state.running else state.exit_code


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


class Watch:
    """Waits for the agent's end and brings it about when a limit is passed."""

    def __init__(self, job: Job, place: Place, container: Container) -> None:
        self._job = job
        self._place = place
        self._container = container
        self._disk_checked = time.monotonic()
        self._timed_out = self._cancelled = False
        self._disk_bytes: int | None = None

    def run(self, process: Process, files: OutputFiles) -> AgentEnd:
        """Start the process and see it through; nothing of it runs afterwards."""
        began = time.monotonic()
        drain = process.begin()
        self._wait(process, drain, deadline=began + self._job.timeout)
        seconds = time.monotonic() - began
        code = process.exit_code()
        self._container.end()
        state = self._container.state()
        self._check_disk()
        if not drain.wait(_GRACE):
            return AgentEnd(exit_code=code, seconds=seconds, broken="the output stream did not end")
        return self._end(code, state, seconds, files, drain.error)

    def _wait(self, process: Process, drain: Drain, *, deadline: float) -> None:
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
            if time.monotonic() > deadline:
                self._timed_out = True
                self._interrupt(drain)
                return
            if time.monotonic() - self._disk_checked > _DISK_INTERVAL and self._check_disk():
                return
            if silent:
                time.sleep(pause)
                pause = min(2 * pause, _TICK)

    def _interrupt(self, drain: Drain) -> None:
        # Some CLIs print their usage when they get SIGINT; they have a short grace for it. All processes get
        # it, as at a terminal: the engine's own signal would reach but the shell around the CLI.
        # There is no room for one more process where an agent used up its pids: it is killed next anyway.
        with suppress(docker.errors.APIError):
            self._container.run(["sh", "-c", "kill -INT -1"], user=AGENT_UID).output()
        drain.wait(_GRACE)

    def _check_disk(self) -> bool:
        """Whether more was written than the run may; asked at the end too, however short the run."""
        self._disk_checked = time.monotonic()
        size = self._container.layer_bytes()
        if size is None or size < self._job.bounds.disk:
            return False
        self._disk_bytes = size
        return True

    def _end(
        self, code: int | None, state: State, seconds: float, files: OutputFiles, error: Exception | None
    ) -> AgentEnd:
        broken = state.error or (f"the engine's output stream broke: {error}" if error else "")
        if not broken and not self._place.slot.alive():
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
        )


def output_files(folder: Path, job: Job) -> OutputFiles:
    """The files that the agent's output goes to."""
    return OutputFiles(folder / "raw.out", folder / "raw.err", job.output_limit)
