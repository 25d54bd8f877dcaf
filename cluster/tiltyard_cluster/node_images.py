"""Which images an engine has, by id: every node runs the same ones, or none."""

from collections.abc import Iterable

import docker
import docker.errors


def lacking(client: docker.DockerClient, images: Iterable[str]) -> tuple[str, ...]:
    """Those of the images that the engine does not have."""
    return tuple(image for image in images if not _has(client, image))


def _has(client: docker.DockerClient, image: str) -> bool:
    try:
        client.images.get(image)
    except docker.errors.ImageNotFound:
        return False
    return True
