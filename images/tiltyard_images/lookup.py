"""Finds a layer by its key, and sees to it that concurrent misses build it once.

A key is the same on every machine, so the tag alone decides. One thing more is checked: that the image was
built on the parent that is here now. A base that was pruned and built again holds newer packages, and two
arms of a trial must not stand on different ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import APIError, ImageNotFound
from filelock import FileLock, Timeout

from tiltyard_images.keys import TAG_LENGTH
from tiltyard_images.model import (
    CREATED_BY,
    LABEL_CREATED_BY,
    LABEL_KEY,
    LABEL_LAYER,
    LABEL_ORIGIN,
    LABEL_PARENT,
    LABEL_ROLE,
    LABEL_STAGE_OF,
    LABEL_VERSION,
    REPOSITORY,
    Image,
)
from tiltyard_specs.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer that is wanted: its name, its key and its parent."""

    name: str
    key: str
    parent: Image | None = None
    version: str = ""

    @property
    def tag(self) -> str:
        """The image's name in the engine."""
        return f"{REPOSITORY}/{self.name}:{self.key[:TAG_LENGTH]}"

    def labels(self, origin: str | None = None) -> dict[str, str]:
        """Return all labels that the image gets; each overrides what its parent would hand down."""
        inherited = self.parent.origin if self.parent else None
        return {
            LABEL_CREATED_BY: CREATED_BY,
            LABEL_LAYER: self.name,
            LABEL_KEY: self.key,
            LABEL_PARENT: self.parent.id if self.parent else "",
            LABEL_VERSION: self.version,
            LABEL_ORIGIN: origin or inherited or "",
            LABEL_ROLE: "image",
            LABEL_STAGE_OF: "",
        }


def find(client: docker.DockerClient, layer: Layer, *, built: bool = False) -> Image | None:
    """Return the layer if the engine has it, built on the given parent; never asks a registry."""
    try:
        found = client.images.get(layer.tag)
    except ImageNotFound:
        return None
    labels = found.labels
    parent = layer.parent.id if layer.parent else ""
    if labels.get(LABEL_KEY) != layer.key or labels.get(LABEL_PARENT, "") != parent:
        return None
    return Image(
        layer=layer.name,
        tag=layer.tag,
        id=str(found.id),
        key=layer.key,
        origin=labels.get(LABEL_ORIGIN) or None,
        version=labels.get(LABEL_VERSION) or None,
        built=built,
    )


def _untag_stale(client: docker.DockerClient, layer: Layer) -> None:
    """Give up an image that was built on another parent; left without a name, nobody would remove it."""
    try:
        client.images.remove(layer.tag)
    except ImageNotFound:
        return
    except APIError:
        return  # a container uses it: the new image takes its name over


def lock_path(locks: Path, layer: Layer) -> Path:
    """Return the file whose lock the builder of a layer holds."""
    return locks / f"{layer.name}-{layer.key[:TAG_LENGTH]}.lock"


def find_or_build(
    client: docker.DockerClient, layer: Layer, make: Callable[[], None], *, locks: Path, wait: float
) -> Image:
    """Return the layer, built by `make` if it is missing; who comes second waits and finds it.

    Raises:
        UnavailableError: Another process holds the build for longer than `wait` seconds.
    """
    if (hit := find(client, layer)) is not None:
        return hit
    locks.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(lock_path(locks, layer), timeout=wait):
            if (hit := find(client, layer)) is not None:
                return hit
            _untag_stale(client, layer)
            make()
            result = find(client, layer, built=True)
    except Timeout as error:
        raise UnavailableError(
            f"Another process has been building {layer.tag} for {wait:.0f} s: end it, then try again."
        ) from error
    if result is None:
        raise UnavailableError(f"The engine lost {layer.tag} right after it was built: is a prune running?")
    return result
