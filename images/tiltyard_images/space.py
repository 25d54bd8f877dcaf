"""A look at free space before a build: a full disk in the middle of one leaves errors that hide the cause."""

import os
import shutil
from pathlib import Path

import docker

from tiltyard_specs.errors import UnavailableError

MIN_FREE_GB = 3.0
"""Free space that a build asks for: the largest layer, and as much again for its intermediate stage."""
GB = 1_000_000_000


def check_space(client: docker.DockerClient, cache_dir: Path, *, need_gb: float = MIN_FREE_GB) -> None:
    """Refuse to build where the engine or the cache has too little room.

    Only folders that this machine can see are checked: a remote engine's root is not.

    Raises:
        UnavailableError: A folder has less than `need_gb` free.
    """
    folders = [("the cache", cache_dir)]
    if _is_local():
        folders.append(("the Docker engine", Path(client.info().get("DockerRootDir", ""))))
    for owner, folder in folders:
        # Docker in a virtual machine names a folder that this machine does not have.
        if not folder.is_dir():
            continue
        free = shutil.disk_usage(folder).free
        if free < need_gb * GB:
            raise UnavailableError(
                f"{folder} of {owner} has {free / GB:.1f} GB free, and a build asks for {need_gb:g} GB: "
                "make room, for example with `tiltyard images prune`."
            )


def _is_local() -> bool:
    return os.environ.get("DOCKER_HOST", "unix://").startswith("unix://")
