"""Which images an engine has, by id: every node runs the same ones, or none. Where it gets what it lacks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import docker
import docker.errors

from tiltyard_cluster.store import Store
from tiltyard_specs.errors import UnavailableError


class ImageSource(Protocol):
    """Where a node gets images that it lacks. It travels to the node and holds no password."""

    def give(self, client: docker.DockerClient, images: tuple[str, ...], store: Store, cache: Path) -> None:
        """Bring images to an engine.

        Args:
            client: The node's engine.
            images: Ids of what it lacks.
            store: The results, as the node sees them.
            cache: Folder for files on the way.

        Raises:
            UnavailableError: They cannot be had, or the engine does not take them.
        """
        ...


def lacking(client: docker.DockerClient, images: Iterable[str]) -> tuple[str, ...]:
    """Those of the images that the engine does not have."""
    return tuple(image for image in images if not _has(client, image))


def require_platform(client: docker.DockerClient, images: Iterable[str]) -> None:
    """See that an engine runs these images as they are: emulated runs compare with no others.

    Raises:
        UnavailableError: They are for another processor.
    """
    here = client.version()["Arch"]
    for image in images:
        if (wanted := client.images.get(image).attrs.get("Architecture") or here) != here:
            raise UnavailableError(
                f"its engine is for {here}, and the trial's images are for {wanted}: runs would be emulated; "
                "let nodes of one kind share a trial"
            )


def _has(client: docker.DockerClient, image: str) -> bool:
    try:
        client.images.get(image)
    except docker.errors.ImageNotFound:
        return False
    return True
