"""Content addresses: one digest over all that goes into a layer.

Every part is framed by its length, so that no two different lists of parts give the same key.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from tiltyard_specs.errors import DataError

TAG_LENGTH = 16
"""Hex digits of a key that a tag shows: 64 bits, far from any chance collision."""


def key_of(*parts: str | bytes) -> str:
    """Return the hex SHA-256 over the parts, in order."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def mapping_digest(mapping: Mapping[str, str]) -> str:
    """Return a digest of a mapping that does not depend on its order."""
    return key_of(*(text for item in sorted(mapping.items()) for text in item))


def tree_digest(root: Path) -> str:
    """Return a digest of a directory: names, kinds, executable bits, link targets and contents.

    Owners, times and other mode bits do not count: they do not reach the image either.
    """
    return key_of(*(part for path in walk(root) for part in _entry(root, path)))


def walk(root: Path) -> Iterator[Path]:
    """Yield everything under a directory in one fixed order; links are not followed."""
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted([*folders, *files]):
            yield Path(folder, name)


def _entry(root: Path, path: Path) -> tuple[bytes, bytes, bytes]:
    name = os.fsencode(path.relative_to(root))
    if path.is_symlink():
        return name, b"link", os.fsencode(path.readlink())
    if path.is_dir():
        return name, b"dir", b""
    if not path.is_file():
        raise DataError(f"{path} is neither a file, a directory nor a link: take it out of the overlay.")
    kind = b"exec" if path.stat().st_mode & stat.S_IXUSR else b"file"
    with path.open("rb") as file:
        return name, kind, hashlib.file_digest(file, "sha256").digest()
