"""Digests of the files that a spec names."""

import hashlib
import os
from pathlib import Path


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
