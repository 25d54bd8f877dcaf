"""What may lie in an arm's overlay: folders, files that can be read, and links that stay inside.

An overlay is read whole for its digest and its image. A FIFO in it would be waited for without end, a device
read without end, and a .git would change what the agent finds in the history of the workspace.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tiltyard_specs.draft import Draft
from tiltyard_specs.problems import KeyPath
from tiltyard_specs.visible import visible

_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_UNREADABLE = ("cannot be read", "change its permissions, or take it out")
_GIT = ("would be merged over the workspace's: overlays must not hold .git", "take it out")


def check_overlay_content(draft: Draft, path: KeyPath, folder: Path) -> None:
    """Report the first thing in an overlay's folder that cannot go into a container."""
    if not _readable(folder, is_folder=True):
        draft.report(path, f'the folder "{_shown(draft, folder)}" {_UNREADABLE[0]}', _UNREADABLE[1])
        return
    for entry in _entries(folder):
        if problem := _problem(draft, entry):
            draft.report(path, f'"{_shown(draft, entry)}" {problem[0]}', problem[1])
            return


def inside(draft: Draft, path: Path) -> bool:
    """Whether a path, with all links resolved, is in the spec's folder."""
    return path.resolve().is_relative_to(draft.folder.resolve())


def _shown(draft: Draft, path: Path) -> str:
    return visible(path.relative_to(draft.folder).as_posix())


def _entries(folder: Path) -> Iterator[Path]:
    """All that lies below, in one fixed order; links are not followed."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(parent, name) for name in sorted([*folders, *files]))


def _problem(draft: Draft, path: Path) -> tuple[str, str] | None:
    """What is wrong with an entry, and a hint."""
    if path.name == ".git":
        return _GIT
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return _link_problem(draft, path)
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "no file")
        return f"is {kind}: overlays hold files, folders and links only", "take it out"
    return None if _readable(path, is_folder=stat.S_ISDIR(mode)) else _UNREADABLE


def _link_problem(draft: Draft, path: Path) -> tuple[str, str] | None:
    try:
        return None if inside(draft, path) else ("leads out of the spec's folder through a symbolic link", "")
    except (OSError, RuntimeError):
        return "is a symbolic link that cannot be followed", "take it out"


def _readable(path: Path, *, is_folder: bool) -> bool:
    return os.access(path, os.R_OK | os.X_OK if is_folder else os.R_OK)
