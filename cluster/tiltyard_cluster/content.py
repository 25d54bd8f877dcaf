"""Digests of the files that a trial names."""

import hashlib
import os
from pathlib import Path

from tiltyard_specs.canonical import content_id


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def script_digest(path: Path) -> str:
    """Digest of what a model script says: comments and layout are no part of it.

    Raises:
        DataError: It holds something wrong.
    """
    from tiltyard_gateway.scripted import load_script  # noqa: PLC0415  # 0.2 s that only a script needs

    return content_id(load_script(path).model_dump(mode="json", exclude_defaults=True), length=64)


def folder_digest(folder: Path) -> str:
    """SHA-256 over all files below a folder: path, executable bit, content or link target."""
    total = hashlib.sha256()
    for path in sorted(_files(folder)):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            kind, content = "link", str(path.readlink())
        else:
            kind, content = ("exec" if os.access(path, os.X_OK) else "file"), file_digest(path)
        total.update(f"{kind}\0{name}\0{content}\0".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _files(folder: Path) -> list[Path]:
    found = []
    for top, folders, files in os.walk(folder):
        links = [name for name in folders if Path(top, name).is_symlink()]
        found += [Path(top, name) for name in [*files, *links]]
    return found
