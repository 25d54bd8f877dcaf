"""Removes what a killed driver left behind: its containers, whatever state they are in."""

from contextlib import suppress

import docker
import docker.errors
import requests

from tiltyard_runner.owner import OWNER, Owner


def reap(client: docker.DockerClient) -> int:
    """Remove every container whose owner on this machine is dead.

    Returns:
        How many containers were removed.
    """
    removed = 0
    for summary in client.api.containers(all=True, filters={"label": OWNER}):
        owner = Owner.from_labels(summary.get("Labels") or {})
        if owner is not None and owner.is_dead():
            # One that the engine cannot remove now must not keep every later trial from its start.
            with suppress(docker.errors.APIError, requests.RequestException):
                removed += remove(client, summary["Id"])
    return removed


def remove(client: docker.DockerClient, container_id: str) -> bool:
    """Kill and remove a container and its anonymous volumes.

    Returns:
        False when it was already gone, or another process is removing it.
    """
    try:
        client.api.remove_container(container_id, force=True, v=True)
    except docker.errors.NotFound:
        return False
    except docker.errors.APIError as error:
        # 409: a removal is already in progress, which is what we want.
        if error.status_code != 409:  # noqa: PLR2004
            raise
        return False
    return True
