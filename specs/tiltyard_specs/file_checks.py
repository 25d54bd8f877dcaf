"""What a spec says about files: they exist, and stay inside the spec's folder, also behind symbolic links.

An overlay that leads to /etc through a link would carry the host's files into a container and a record.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from tiltyard_specs.arms import Arm
from tiltyard_specs.draft import Draft
from tiltyard_specs.overlay_checks import check_overlay_content, inside
from tiltyard_specs.problems import KeyPath
from tiltyard_specs.questions import Question, Repo


def check_files(draft: Draft) -> None:
    """Overlays, hidden files, solutions and local repos."""
    for i, arm in draft.items("arms", Arm):
        if arm.overlay is not None:
            _check_overlay(draft, ("arms", i, "overlay"), arm.overlay)
    for path, name in _files(draft):
        _check_file(draft, path, name)
    for i, repo in draft.items("repos", Repo):
        if repo.is_local:
            _check_repo(draft, ("repos", i, "source"), repo.source)


def _files(draft: Draft) -> Iterator[tuple[KeyPath, str]]:
    for i, question in draft.items("questions", Question):
        for target, name in question.hidden.items():
            yield ("questions", i, "hidden", target), name
        if question.solution is not None:
            yield ("questions", i, "solution"), question.solution


def _check_file(draft: Draft, path: KeyPath, name: str) -> None:
    file = draft.folder / name
    if not inside(draft, file):
        draft.report(path, f'"{name}" leads out of the spec\'s folder through a symbolic link')
    elif not file.is_file():
        draft.report(path, f'the file "{name}" {_why_no_file(file)}', "paths are relative to the spec file")
    elif not os.access(file, os.R_OK):
        draft.report(path, f'the file "{name}" cannot be read', "change its permissions")


def _why_no_file(file: Path) -> str:
    if file.is_dir():
        return "is a folder, not a file"
    return "is no regular file" if file.exists() else "does not exist"


def _check_overlay(draft: Draft, path: KeyPath, name: str) -> None:
    folder = draft.folder / name
    if not inside(draft, folder):
        draft.report(path, f'"{name}" leads out of the spec\'s folder through a symbolic link')
    elif not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        draft.report(path, f'the folder "{name}" {what}', "paths are relative to the spec file")
    else:
        check_overlay_content(draft, path, folder)


def _check_repo(draft: Draft, path: KeyPath, source: str) -> None:
    place = draft.folder / source.removeprefix("file://")
    if not place.exists():
        draft.report(
            path,
            f'the repository "{source}" does not exist',
            "give a URL, or a path relative to the spec file",
        )
    elif place.is_dir() and not (place / ".git").exists() and not (place / "objects").is_dir():
        draft.report(
            path,
            f'the folder "{source}" is not a git repository',
            "make it one with git init, add and commit",
        )
