"""Runs an arm's setup commands inside a container that already runs (`setup_scope: run`)."""

import threading
from pathlib import Path

from tiltyard_runner.container import Container
from tiltyard_runner.errors import SetupError
from tiltyard_runner.job import Job
from tiltyard_runner.output import Drain, OutputFiles

_TICK = 0.25
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
        _run_one(container, job, command, user=user, log=log, stop=stop)


def _run_one(
    container: Container, job: Job, command: str, *, user: int, log: Path, stop: threading.Event
) -> None:
    process = container.run(["sh", "-c", command], user=user, env=job.trial_env)
    with OutputFiles(log, log, job.output_limit) as files:
        drain = Drain(process.stream(), files)
        drain.start()
        waited = 0.0
        # A setup may leave a service running that holds the output open: the exit code decides.
        while not drain.wait(_TICK) and process.exit_code() is None:
            waited += _TICK
            if stop.is_set() or waited > job.timeout:
                raise SetupError(f"setup command {command!r} did not end within {job.timeout:g} s")
    code = process.exit_code()
    if code:
        tail = log.read_bytes()[-_TAIL:].decode(errors="replace").strip()
        raise SetupError(f"setup command {command!r} ended with exit code {code}: {tail}")
