"""Takes the file in which some agents leave their result out of an ended container.

The agent could write there what it liked: a link, a device, a folder of a million files. Only a regular file
of sensible size is taken, and nothing that it left makes this fail.
"""

import tarfile
from pathlib import Path

import docker.errors

from tiltyard_runner.container import Container
from tiltyard_runner.fetching import fetch_file

MAX_BYTES = 64 * 1024 * 1024


def take_result_file(container: Container, path: str, target: Path) -> Path | None:
    """Copy a container's file.

    Args:
        container: Running or ended.
        path: The file's absolute path in it.
        target: Where to write the copy.

    Returns:
        The target, or None when there is no such file or it is not one to be taken.

    Raises:
        docker.errors.DockerException: The engine broke off.
    """
    try:
        found = fetch_file(container, path, target, limit=MAX_BYTES)
    except docker.errors.APIError:
        # Not only 404: a file or a ring of links in the place of a folder is an internal error to the engine.
        return None
    except tarfile.TarError as error:
        raise docker.errors.DockerException(f"the engine's archive of {path} breaks off") from error
    return target if found else None
