"""Whether the engine is still there when runs are lost: none can run without it, and none is to blame."""

import threading
import time
from contextlib import suppress

import docker
import docker.errors
import requests

from tiltyard_runner.owner import OWNER, PID, TRIAL, Owner
from tiltyard_runner.reaper import remove
from tiltyard_specs.errors import UnavailableError

PATIENCE = 30.0
"""Seconds that an engine may take to come back: it may be restarted, or updated."""
_PAUSE = 0.5
_FAILURES = (docker.errors.DockerException, requests.RequestException)


class EngineGoneError(UnavailableError):
    """The engine has stopped answering."""


def engine_error(client: docker.DockerClient) -> str | None:
    """Why the engine does not answer; None where it does."""
    try:
        client.ping()
    except _FAILURES as error:
        return str(error)
    return None


def await_engine(
    client: docker.DockerClient, stop: threading.Event, patience: float = PATIENCE
) -> EngineGoneError | None:
    """Wait for an engine that is away for a moment.

    Args:
        client: The engine.
        stop: Set when nothing more is wanted; ends the wait.
        patience: Seconds to wait.

    Returns:
        None when it answers; else what to raise once what was done is safe.
    """
    deadline = time.monotonic() + patience
    while (error := engine_error(client)) is not None:
        if time.monotonic() > deadline or stop.wait(_PAUSE):
            return EngineGoneError(
                f"the container engine does not answer any more: {error}; finished runs are kept: "
                "start the engine, then start the trial again to go on"
            )
    return None


def remove_own(client: docker.DockerClient, owner: Owner, trial: str) -> None:
    """Remove what could not be removed in its time, because the engine was away just then."""
    labels = owner.labels(trial=trial, role="")
    wanted = [f"{name}={labels[name]}" for name in (OWNER, PID, TRIAL)]
    with suppress(*_FAILURES, OSError):
        for found in client.api.containers(all=True, filters={"label": wanted}):
            remove(client, found["Id"])
