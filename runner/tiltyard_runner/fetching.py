"""Copies one file out of a container that has ended or still runs."""

import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import Path

import docker.errors

from tiltyard_runner.container import Container
from tiltyard_runner.grading.archive import ChunkReader

_COPY = 1 << 20


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was copied."""

    sha256: str
    bytes: int


def fetch_file(
    container: Container, source: str, target: Path, *, limit: int | None = None
) -> Fetched | None:
    """Copy the regular file `source` to `target`.

    Args:
        container: Where it lies.
        source: Absolute path in the container.
        target: Path on this machine; nothing is left there unless the file was copied whole.
        limit: Largest size in bytes that is wanted.

    Returns:
        None when there is no such file, it is no regular file, or it is larger than `limit`.

    Raises:
        tarfile.TarError: The engine's archive breaks off.
    """
    try:
        chunks = container.get_archive(source)
    except docker.errors.NotFound:
        return None
    reader = ChunkReader(chunks)
    with tarfile.open(fileobj=reader, mode="r|") as archive:
        member = archive.next()
        if member is None or not member.isreg() or (limit is not None and member.size > limit):
            return None
        fetched = _copy(archive, member, target)
    reader.check_whole()
    return fetched


def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> Fetched:
    content = archive.extractfile(member)
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as file:
        while content is not None and (chunk := content.read(_COPY)):
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
    return Fetched(digest.hexdigest(), size)
