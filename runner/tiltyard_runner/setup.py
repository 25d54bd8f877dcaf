"""Runs an arm's setup commands inside a container that already runs (`setup_scope: run`)."""

import os
import threading
from pathlib import Path

from tiltyard_runner.command import CommandEnd, CommandPlan, run_command
from tiltyard_runner.container import Container
from tiltyard_runner.cutting import AROUND, ending
from tiltyard_runner.disk_watch import written
from tiltyard_runner.errors import SetupError
from tiltyard_runner.job import Job
from tiltyard_runner.masking import Masking

_TAIL = 500


def run_setup(container: Container, job: Job, *, user: int, log: Path, stop: threading.Event) -> None:
    """Run each command in turn, with the per-run variables set.

    Args:
        container: The running container.
        job: The run, for its commands and variables.
        user: Who runs them: the owner of the working tree.
        log: Gets the output.
        stop: Set when the user wants everything to end.

    Raises:
        SetupError: A command failed, or took longer than the run's own timeout.
    """
    for command in job.setup:
        plan = CommandPlan(command, user, job.trial_env, job.timeout, job.output_limit, disk=job.bounds.disk)
        end = run_command(container, plan, log=log, stop=stop)
        if end.exit_code != 0:
            tail = _tail(log, job)
            raise SetupError(f"setup command {command!r} {_how(end, job.timeout)}: {tail}")


def _tail(log: Path, job: Job) -> str:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL - AROUND))
        text = file.read().decode(errors="replace")
    return ending(text, _TAIL, Masking(job.secrets).text).strip()


def _how(end: CommandEnd, timeout: float) -> str:
    if end.stopped:
        return "was stopped by the user"
    if end.timed_out:
        return f"did not end within {timeout:g} s"
    if end.disk_bytes is not None:
        return f"passed the disk limit: it had written {written(end.disk_bytes)}"
    return f"ended with exit code {end.exit_code}"
