"""The results folder of a trial on this machine: whose it is, and who works on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tiltyard_cluster.layout import RUNS, SUPERSEDED, TRIAL
from tiltyard_specs.errors import UnavailableError, UsageError

_LOCK = ".lock"
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


@contextmanager
def only_one(out: Path) -> Iterator[None]:
    """Keeps every other process away from the results folder."""
    lock = FileLock(out / _LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise UnavailableError(
            f"another tiltyard is running a trial in {out}; wait for it, or choose another folder with --out"
        ) from None
    try:
        yield
    finally:
        lock.release()
