"""Small tar archives in memory or in a spooled file: how files reach a build and a container."""

import io
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from tiltyard_images.keys import walk
from tiltyard_images.model import HOME, WORKSPACE, TreeFile

SPOOL = 32 * 1024 * 1024
"""Bytes of an archive that stay in memory; a larger one goes to a temporary file."""


def member(name: str, *, mode: int = 0o644, uid: int = 0, size: int = 0) -> tarfile.TarInfo:
    """Return a plain file member; the time is fixed, so that equal content gives equal bytes."""
    info = tarfile.TarInfo(name)
    info.mode, info.uid, info.gid, info.size, info.mtime = mode, uid, uid, size, 0
    return info


def folder(name: str, *, uid: int = 0) -> tarfile.TarInfo:
    """Return a directory member."""
    info = member(name, mode=0o755, uid=uid)
    info.type = tarfile.DIRTYPE
    return info


def of_bytes(files: Mapping[str, bytes]) -> bytes:
    """Pack named contents, owned by root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            tar.addfile(member(name, size=len(content)), io.BytesIO(content))
    return buffer.getvalue()


def of_files(files: Sequence[TreeFile], *, uid: int) -> bytes:
    """Pack an arm's files by their absolute paths, with the folders above them below a home or the workspace.

    The engine would make a missing folder root's, and the agent could not write beside the file.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for parent in sorted({parent for file in files for parent in _own_parents(file.path)}):
            tar.addfile(folder(parent, uid=uid))
        for file in files:
            info = member(file.path.lstrip("/"), mode=file.mode, uid=uid, size=len(file.content))
            tar.addfile(info, io.BytesIO(file.content))
    return buffer.getvalue()


def _own_parents(path: str) -> list[str]:
    parents = PurePosixPath(path).parents
    return [
        str(parent).lstrip("/")
        for parent in parents
        if any(parent != PurePosixPath(root) and parent.is_relative_to(root) for root in (WORKSPACE, HOME))
    ]


def of_tree(root: Path, prefix: str, *, uid: int) -> IO[bytes]:
    """Pack a directory under `prefix`; owners become `uid`, modes 755 or 644."""
    spool = tempfile.SpooledTemporaryFile(max_size=SPOOL)  # noqa: SIM115 - the caller closes it
    with tarfile.open(fileobj=spool, mode="w") as tar:
        for path in walk(root):
            _add(tar, path, f"{prefix}/{path.relative_to(root)}", uid)
    spool.seek(0)
    return spool


def _add(tar: tarfile.TarFile, path: Path, name: str, uid: int) -> None:
    info = tar.gettarinfo(path, name)
    info.uid = info.gid = uid
    info.uname = info.gname = ""
    if info.islnk():  # a hard link would need its first name at the same place
        info.type, info.linkname, info.size = tarfile.REGTYPE, "", path.stat().st_size
    if not info.issym():
        info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    if info.isreg():
        with path.open("rb") as file:
            tar.addfile(info, file)
    else:
        tar.addfile(info)
