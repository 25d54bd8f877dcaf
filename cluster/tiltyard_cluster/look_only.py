"""Looks for images and commits without making or fetching any: for whoever only wants to know."""

import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import docker

from tiltyard_images import Checkout, History, Image, ImageBuilder, RepoError
from tiltyard_images.git import git
from tiltyard_images.lookup import Layer, find
from tiltyard_images.recipes import workspace_key

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_HEX = re.compile(r"[0-9a-f]{7,64}")
_PATIENCE = 60.0
"""Seconds that a repository may take to list its refs."""


class ImageFinder(ImageBuilder):
    """A builder that builds nothing: a layer that the engine lacks is written down instead.

    A key says what goes into a layer, so the keys of layers on a missing one are known as well.
    """

    def __init__(self, client: docker.DockerClient, cache_dir: Path) -> None:
        super().__init__(client, cache_dir)
        self.missing: dict[str, None] = {}
        """Tags of the layers that a start would build, in order."""

    def workspace(
        self, parent: Image, checkout: Checkout | None, *, writable: bool, history: History
    ) -> Image:
        """The workspace, without a look into the mirror, which may not be there yet."""
        key = workspace_key(parent, checkout, writable=writable, history=history)
        return self._once(Layer("workspace", key, parent), lambda: None)

    def _once(self, layer: Layer, make: Callable[[], None]) -> Image:
        del make
        found = find(self._client, layer)
        if found is not None:
            return found
        self.missing.setdefault(layer.tag)
        return Image(layer.name, layer.tag, "missing", layer.key, None, None, built=False)


def is_commit(ref: str | None) -> bool:
    """Whether a ref is a whole commit id, which means the same everywhere."""
    return ref is not None and _COMMIT.fullmatch(ref) is not None


def look_up(source: str, ref: str | None) -> Checkout | None:
    """The commit that a ref names at its source, which is asked and not fetched.

    Returns:
        None when only a fetch could tell: a commit id that no branch or tag names.

    Raises:
        RepoError: The repository cannot be read, or has no such ref.
    """
    if shutil.which("git") is None:
        raise RepoError("git is not installed")
    path = Path(source)
    where = str(path.resolve()) if path.exists() else source
    refs = _refs(git("ls-remote", "--", where, cwd=Path("/"), timeout=_PATIENCE).decode(errors="replace"))
    commit = next((refs[name] for name in _names(ref, refs) if name in refs), None)
    if commit is None and ref is not None and _HEX.fullmatch(ref):
        commit = _held(path, ref)
        if commit is None and not path.is_dir():
            return None
    if commit is None:
        raise RepoError(f"it has no ref {ref!r}" if ref else "it holds no commit")
    return Checkout(source, ref, commit, Path(where))


def _refs(listing: str) -> dict[str, str]:
    refs: dict[str, str] = {}
    for line in listing.splitlines():
        commit, _, name = line.partition("\t")
        # An annotated tag is listed twice: as an object, then with the commit that it names.
        if _COMMIT.fullmatch(commit):
            refs[name.removesuffix("^{}")] = commit
    return refs


def _names(ref: str | None, refs: Iterable[str]) -> list[str]:
    """What a ref may mean, in the order in which a fetch would decide it."""
    if ref is None:
        # A bundle may have no HEAD.
        branches = sorted(name for name in refs if name.startswith("refs/heads/"))
        return ["HEAD", "refs/heads/main", "refs/heads/master", *branches]
    return [f"refs/heads/{ref}", f"refs/tags/{ref}", *([ref] if ref.startswith("refs/") else [])]


def _held(folder: Path, ref: str) -> str | None:
    """A commit that a repository on this machine holds, though no branch or tag names it."""
    if not folder.is_dir():
        return None
    try:
        return git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", cwd=folder).decode().strip()
    except RepoError:
        return None
