"""Whose a place for results is, and who works on a folder on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tiltyard_cluster.layout import RUNS, SUPERSEDED, TRIAL
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import UnavailableError, UsageError

_LOCK = ".lock"
_PROBE = 1.0
"""Seconds to wait for the lock: whoever only looks whether it is held holds it for a moment."""
_OURS = frozenset({TRIAL, RUNS.rstrip("/"), SUPERSEDED})


def require_results_folder(out: Path) -> None:
    """See that results may go to a folder: one that is new, empty, or holds a trial.

    Raises:
        UsageError: It holds something else, among which records would be strewn.
    """
    if not out.is_dir():
        return
    # Hidden files are a driver's own, or those of version control.
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    if names and not names & _OURS:
        raise UsageError(f"{out} is not empty and holds no trial; choose another folder with --out")


def require_trial_only(store: Store, name: str) -> None:
    """See that results may go to a store: one that is empty, or holds a trial.

    Raises:
        UsageError: It holds something else.
    """
    if any(next(store.list(ours), None) is not None for ours in _OURS):
        return
    if next(store.list(""), None) is not None:
        raise UsageError(f"{name} is not empty and holds no trial; choose another place with --out")


def in_use(out: Path) -> bool:
    """Whether a process on this machine works on a results folder."""
    if not (out / _LOCK).exists():
        return False
    try:
        with FileLock(out / _LOCK, timeout=0):
            return False
    except Timeout:
        return True


@contextmanager
def only_one(out: Path, name: str | None = None) -> Iterator[None]:
    """Keeps every other process away from the results folder.

    Args:
        out: The folder.
        name: What to call it in messages, where it stands for a place elsewhere.
    """
    lock = FileLock(out / _LOCK, timeout=_PROBE)
    try:
        lock.acquire()
    except Timeout:
        raise UnavailableError(
            f"another tiltyard is running a trial in {name or out}; wait for it, "
            f"or choose another {'place' if name else 'folder'} with --out"
        ) from None
    try:
        yield
    finally:
        lock.release()
