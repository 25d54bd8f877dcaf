"""Lists and removes images, and only those that Tiltyard made.

Labels alone do not tell: an image that someone builds on one of ours inherits them. Ours are those whose tag
is the one that their own labels ask for, and untagged stages of our Dockerfiles.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import APIError, ImageNotFound, NotFound
from docker.models.images import Image as EngineImage
from filelock import FileLock, Timeout

from tiltyard_images.box import LABEL_LOCK
from tiltyard_images.keys import TAG_LENGTH
from tiltyard_images.lookup import Layer
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
)

CONFLICT = 409
_ORDER = ("arm", "workspace", "agent", "forwarder", "base", "rootfs")
"""Layers from the top down: an image goes before the one that it stands on."""


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """One of our images, as `tiltyard images list` shows it."""

    layer: str
    tag: str
    id: str
    key: str
    version: str | None
    origin: str | None
    created: str
    """Time in ISO 8601, as the engine gives it."""
    size: int
    """Bytes, with all layers below."""
    own_size: int
    """Bytes that this layer adds to its parent."""


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What a prune did."""

    removed: tuple[ImageInfo, ...]
    kept: tuple[tuple[ImageInfo, str], ...]
    """Images that stay, with the engine's reason."""
    stages: int
    """Untagged intermediate stages that were removed."""

    @property
    def freed(self) -> int:
        """Bytes that the removed images had to themselves."""
        return sum(image.own_size for image in self.removed)


def list_images(client: docker.DockerClient) -> tuple[ImageInfo, ...]:
    """Return our images, those that stand on others first."""
    return _ours(_inspect(client, {"label": [f"{LABEL_CREATED_BY}={CREATED_BY}"]}))


def prune(
    client: docker.DockerClient, cache_dir: Path, *, names: Collection[str] = (), dry_run: bool = False
) -> PruneResult:
    """Remove our images that nothing uses; images with containers or with other images on top stay.

    Args:
        client: The engine.
        cache_dir: Where builders hold their locks.
        names: Layers such as `arm`, agents such as `claude`, or single tags; empty means all.
        dry_run: Only say what would go; which images have containers is not known then.
    """
    present = {str(image.id): _fs_layers(image) for image in _inspect(client, {})}
    removed, kept = [], []
    for image in list_images(client):
        if names and not {image.layer, image.layer.removeprefix("agent-"), image.tag} & set(names):
            continue
        reason = _stood_on(image.id, present) or (None if dry_run else _remove(client, image.tag))
        if reason is None:
            removed.append(image)
            present.pop(image.id, None)
        else:
            kept.append((image, reason))
    stages = 0 if dry_run else _remove_stages(client, cache_dir.resolve() / "locks")
    return PruneResult(tuple(removed), tuple(kept), stages)


def give_names(client: docker.DockerClient, images: Iterable[str]) -> None:
    """Name images of ours that came to this engine without a name, so that they can be listed and pruned.

    A name that another image has stays with that one.

    Args:
        client: The engine.
        images: Their ids.
    """
    for image in images:
        found = client.images.get(image)
        if not found.labels.get(LABEL_KEY):
            continue
        repository, _, tag = _own_tag(found).partition(":")
        try:
            client.images.get(f"{repository}:{tag}")
        except ImageNotFound:
            client.api.tag(image, repository, tag)


def sweep_builds(client: docker.DockerClient, cache_dir: Path) -> tuple[str, ...]:
    """Remove build containers that a killed process left; return their names.

    A living builder holds its layer's lock, so a free lock means that nobody will come back.
    """
    gone = []
    builds = client.containers.list(all=True, filters={"label": f"{LABEL_ROLE}=build"}, ignore_removed=True)
    for container in builds:
        lock = Path(container.labels.get(LABEL_LOCK, ""))
        if lock.parent == (cache_dir / "locks").resolve() and _is_free(lock):
            try:
                container.remove(force=True, v=True)
            except NotFound:
                continue
            gone.append(str(container.name))
    return tuple(gone)


def _inspect(client: docker.DockerClient, filters: dict[str, list[str]]) -> list[EngineImage]:
    """Return images with all that the engine knows; one that is removed meanwhile is left out."""
    found = []
    for row in client.api.images(filters=filters):
        with suppress(ImageNotFound):
            found.append(client.images.get(row["Id"]))
    return found


def _ours(found: list[EngineImage]) -> tuple[ImageInfo, ...]:
    sizes = {str(image.id): int(image.attrs["Size"]) for image in found}
    ours = [_info(image, tag, sizes) for image in found for tag in image.tags if tag == _own_tag(image)]
    return tuple(sorted(ours, key=lambda image: (_rank(image.layer), image.layer, image.created)))


def _fs_layers(image: EngineImage) -> tuple[str, ...]:
    return tuple(image.attrs.get("RootFS", {}).get("Layers") or ())


def _stood_on(image_id: str, present: dict[str, tuple[str, ...]]) -> str | None:
    """Tell whether another image holds all layers of this one and more.

    The engine would take the name from such an image without a word.
    """
    mine = present.get(image_id, ())
    above = sum(len(other) > len(mine) and other[: len(mine)] == mine for other in present.values())
    return f"other images stand on it ({above})" if mine and above else None


def _info(image: EngineImage, tag: str, sizes: dict[str, int]) -> ImageInfo:
    labels, size = image.labels, sizes[str(image.id)]
    return ImageInfo(
        layer=labels[LABEL_LAYER],
        tag=tag,
        id=str(image.id),
        key=labels[LABEL_KEY],
        version=labels.get(LABEL_VERSION) or None,
        origin=labels.get(LABEL_ORIGIN) or None,
        created=str(image.attrs["Created"]),
        size=size,
        own_size=size - sizes.get(labels.get(LABEL_PARENT, ""), 0),
    )


def _own_tag(image: EngineImage) -> str:
    return Layer(image.labels.get(LABEL_LAYER, ""), image.labels.get(LABEL_KEY, "")).tag


def _rank(layer: str) -> int:
    return next((place for place, name in enumerate(_ORDER) if layer.startswith(name)), 0)


def _remove(client: docker.DockerClient, tag: str) -> str | None:
    """Remove an image by its tag; return the engine's reason if it stays."""
    try:
        client.images.remove(tag)
    except ImageNotFound:
        return None
    except APIError as error:
        if error.status_code != CONFLICT:
            raise
        return str(error.explanation)
    return None


def _remove_stages(client: docker.DockerClient, locks: Path) -> int:
    count = 0
    for image in _inspect(client, {"dangling": ["true"], "label": [LABEL_STAGE_OF]}):
        key = image.labels.get(LABEL_STAGE_OF)
        if key and all(_is_free(lock) for lock in locks.glob(f"*-{key[:TAG_LENGTH]}.lock")):
            count += _remove(client, str(image.id)) is None
    return count


def _is_free(lock: Path) -> bool:
    if not lock.parent.is_dir():
        return True
    try:
        with FileLock(lock, timeout=0):
            return True
    except Timeout:
        return False
