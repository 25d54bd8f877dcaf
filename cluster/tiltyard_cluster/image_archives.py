"""Images for nodes that have an engine of their own: one archive through the store, the same ids everywhere.

Built once, by the driver. What a node would build itself from the same recipe might differ in a byte, and
then two runs of one arm would not be of one arm.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import docker
import docker.errors
import requests

from tiltyard_cluster.made_once import MadeOnce
from tiltyard_cluster.node_images import ImageSource
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_specs.errors import UnavailableError

_FOLDER = ".images"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class StoredArchive:
    """See `ImageSource`: one archive of all images in the store."""

    key: str

    def give(self, client: docker.DockerClient, images: tuple[str, ...], store: Store, cache: Path) -> None:  # noqa: ARG002  # an archive has all of them
        """See `ImageSource`."""
        load_images(client, store, self.key, cache)


@dataclass(slots=True)
class ImageArchives:
    """Makes the archive when a node first lacks an image; removed from the store at the end.

    Attributes:
        connect: Makes a client of the engine that has the images.
        store: Through which they go.
        images: Ids of all images of the trial.
        cache: Folder for the archive while it is made.
        tell: Told what is done.
    """

    connect: Callable[[], docker.DockerClient]
    store: Store
    images: tuple[str, ...]
    cache: Path
    tell: Callable[[str], None]
    _made: MadeOnce[ImageSource] = field(default_factory=lambda: MadeOnce("image-archive"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._made.close()
        # Also where none was made: a driver that was killed may have left it.
        self.store.remove(self._key())
        if isinstance(self.store, FolderStore):
            with suppress(OSError):
                (self.store.root / _FOLDER).rmdir()

    def wanted(self) -> "Future[ImageSource]":
        """The archive, once it is in the store."""
        return self._made.get(self._make)

    def _key(self) -> str:
        digest = hashlib.sha256("\n".join(sorted(self.images)).encode()).hexdigest()
        return f"{_FOLDER}/{digest}.tar.zst"

    def _make(self) -> StoredArchive:
        self.tell(f"sending {len(self.images)} images to nodes that lack them")
        self.cache.mkdir(parents=True, exist_ok=True)
        client = self.connect()
        try:
            with tempfile.TemporaryDirectory(prefix="images-", dir=self.cache) as folder:
                path = Path(folder, "images.tar.zst")
                save_images(client, self.images, path)
                self.store.put_file(self._key(), path)
        finally:
            client.close()
        return StoredArchive(self._key())


def save_images(client: docker.DockerClient, images: Iterable[str], path: Path) -> None:
    """Write images to one compressed archive; layers that they share are in it once."""
    import pyarrow as pa  # noqa: PLC0415

    # docker-py's own call saves one image, and shared layers with each.
    api: Any = client.api
    answer = api._get(api._url("/images/get"), params={"names": sorted(images)}, stream=True)  # noqa: SLF001
    api._raise_for_status(answer)  # noqa: SLF001
    with answer, pa.CompressedOutputStream(str(path), "zstd") as file:
        for chunk in answer.iter_content(_CHUNK):
            file.write(chunk)


def load_images(client: docker.DockerClient, store: Store, key: str, cache: Path) -> None:
    """Load what is in an archive into an engine.

    Raises:
        UnavailableError: The engine does not take it.
    """
    import pyarrow as pa  # noqa: PLC0415

    api: Any = client.api
    with tempfile.TemporaryDirectory(prefix="images-", dir=cache) as folder:
        path = Path(folder, "images.tar.zst")
        with path.open("wb") as packed:
            for chunk in store.stream(key):
                packed.write(chunk)
        with pa.CompressedInputStream(str(path), "zstd") as file:
            try:
                for _ in api.load_image(iter(lambda: file.read(_CHUNK), b"")):
                    pass
            except (docker.errors.DockerException, requests.RequestException) as error:
                raise UnavailableError(f"its engine does not take the trial's images: {error}") from error
