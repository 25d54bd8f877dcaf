"""Repositories as bare mirrors in the cache, and refs resolved to commits.

A mirror is fetched only when it lacks what is asked for: a commit id that it holds needs no network, a branch
or tag is looked up at its source each time, because it may have moved.
"""

import difflib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from tiltyard_images.errors import RepoError
from tiltyard_images.git import FETCH, GitError, git
from tiltyard_images.keys import key_of
from tiltyard_images.say import Say

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_REF = re.compile(r"refs/[^~^:{}\s\\]+")
_SHORT_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_HEAD = "refs/tiltyard/head"
"""Where a mirror keeps the source's HEAD."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository at one commit."""

    source: str
    ref: str | None
    commit: str
    """Full commit id."""
    mirror: Path
    """Bare repository that holds the commit."""


class Repos:
    """Mirrors of repositories under one folder; safe to share among threads and processes."""

    def __init__(self, cache_dir: Path, say: Say = lambda _: None) -> None:
        self._root, self._say = cache_dir / "repos", say

    def checkout(self, source: str, ref: str | None = None) -> Checkout:
        """Resolve a ref of a repository, fetching what is missing.

        Args:
            source: URL, path of a repository, or path of a Git bundle.
            ref: Branch, tag or commit id; None is the head of the default branch.

        Raises:
            RepoError: The repository or the ref does not exist.
        """
        where = _absolute(source)
        mirror = self._root / f"{_slug(where)}-{key_of(where)[:16]}.git"
        self._root.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{mirror}.lock", timeout=FETCH):
            commit = _held(mirror, ref)
            if commit is None:
                self._say(f"fetching {source}")
                _fetch(mirror, source, where)
                commit = _resolve(mirror, source, where, ref)
        return Checkout(source, ref, commit, mirror)


def submodules(checkout: Checkout) -> tuple[str, ...]:
    """Return the paths of submodules, which are not fetched: their folders stay empty."""
    listing = git("ls-tree", "-r", "-z", checkout.commit, cwd=checkout.mirror).split(b"\0")
    return tuple(
        entry.partition(b"\t")[2].decode(errors="replace") for entry in listing if entry[:6] == b"160000"
    )


def _absolute(source: str) -> str:
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source


def _slug(where: str) -> str:
    name = where.rstrip("/").rpartition("/")[2].removesuffix(".git").removesuffix(".bundle")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:40] or "repo"


def _held(mirror: Path, ref: str | None) -> str | None:
    """Return a full commit id that the mirror already holds."""
    if ref is None or not _COMMIT.fullmatch(ref) or not mirror.is_dir():
        return None
    return _commit_of(mirror, ref)


def _fetch(mirror: Path, source: str, where: str) -> None:
    fresh = not mirror.is_dir()
    if fresh:
        mirror.mkdir(parents=True)
        git("init", "--quiet", "--bare", "--template=", ".", cwd=mirror)
    try:
        _fetch_all(mirror, where)
    except GitError as error:
        if fresh:
            shutil.rmtree(mirror)
        raise RepoError(
            f"The repository {source!r} cannot be read: {error} Give a URL, the path of a repository, "
            "or the path of a Git bundle."
        ) from error


def _fetch_all(mirror: Path, where: str) -> None:
    listing = git("ls-remote", "--", where, "HEAD", cwd=mirror, timeout=FETCH)
    git("update-ref", "-d", _HEAD, cwd=mirror)
    head = [f"+HEAD:{_HEAD}"] if listing.strip() else []
    # A depth-limited checkout, as CI makes them, is a fine source too.
    options = ("--quiet", "--prune", "--no-auto-gc", "--no-tags", "--update-shallow")
    git("fetch", *options, "--", where, *_REFSPECS, *head, cwd=mirror, timeout=FETCH)


def _resolve(mirror: Path, source: str, where: str, ref: str | None) -> str:
    if ref is None:
        return _default(mirror, source)
    for name in (f"refs/heads/{ref}", f"refs/tags/{ref}", ref):
        if (commit := _commit_of(mirror, name)) is not None:
            return commit
    if _COMMIT.fullmatch(ref) and (commit := _fetch_commit(mirror, where, ref)) is not None:
        return commit
    raise RepoError(_no_ref(mirror, source, ref))


def _commit_of(mirror: Path, name: str) -> str | None:
    # Only refs and commit ids count: an expression such as `main~3` would mean another commit tomorrow.
    if not (_REF.fullmatch(name) or _SHORT_COMMIT.fullmatch(name)):
        return None
    try:
        found = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", cwd=mirror)
    except GitError:
        return None
    return found.decode().strip()


def _fetch_commit(mirror: Path, where: str, commit: str) -> str | None:
    """Ask the source for a commit that no branch or tag reaches; many servers give it."""
    try:
        git("fetch", "--quiet", "--no-auto-gc", "--no-tags", "--", where, commit, cwd=mirror, timeout=FETCH)
    except GitError:
        return None
    return _commit_of(mirror, commit)


def _default(mirror: Path, source: str) -> str:
    """Return the commit of the source's HEAD; a bundle may have none, then its main branch counts."""
    first = _names(mirror, "refs/heads")[:1]
    for name in (_HEAD, "refs/heads/main", "refs/heads/master", *(f"refs/heads/{name}" for name in first)):
        if (commit := _commit_of(mirror, name)) is not None:
            return commit
    raise RepoError(f"The repository {source!r} holds no commit: name another, or commit something first.")


def _names(mirror: Path, *under: str) -> list[str]:
    listing = git("for-each-ref", "--format=%(refname)", *under, cwd=mirror).decode(errors="replace")
    return [re.sub(r"^refs/(heads|tags)/", "", name) for name in listing.splitlines()]


def _no_ref(mirror: Path, source: str, ref: str) -> str:
    names = _names(mirror, "refs/heads", "refs/tags")
    near = difflib.get_close_matches(ref, names, n=3, cutoff=0.4) or names[:3]
    hint = f"the nearest are {', '.join(near)}" if near else "it has no branches or tags"
    return f"The repository {source!r} has no ref {ref!r}: {hint}."
