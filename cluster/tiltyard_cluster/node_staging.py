"""The staging folder of one worker of a cluster, in the cache of its machine.

Several workers may use one machine, and one may be killed: a lock that dies with its holder tells the living
from the dead, whose attempts are then saved.
"""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tiltyard_cluster.options import cache_folder

_LOCK = ".lock"


@contextmanager
def node_staging(name: str, recover: Callable[[Path], None]) -> Iterator[Path]:
    """A folder of its own for this process, removed at the end unless something is left in it.

    Args:
        name: Of the result; its workers on this machine see each other's folders.
        recover: Saves what lies in the folder of a worker that is dead.
    """
    parent = cache_folder(os.environ) / "cluster" / name
    parent.mkdir(parents=True, exist_ok=True)
    _recover_dead(parent, recover)
    folder = parent / secrets.token_hex(4)
    with FileLock(_lock_of(folder)):
        folder.mkdir()
        try:
            yield folder
        finally:
            _remove_empty(folder)
    # A neighbour may have died meanwhile, and nobody come in its place.
    _recover_dead(parent, recover)
    if not folder.exists():
        _lock_of(folder).unlink(missing_ok=True)
        _remove_empty(parent)


def _recover_dead(parent: Path, recover: Callable[[Path], None]) -> None:
    for folder in sorted(path for path in parent.iterdir() if path.is_dir()):
        try:
            with FileLock(_lock_of(folder), timeout=0):
                if folder.exists():
                    recover(folder)
                    shutil.rmtree(folder)
                _lock_of(folder).unlink(missing_ok=True)
        except Timeout:
            continue


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + _LOCK)


def _remove_empty(folder: Path) -> None:
    # What could not be published stays in it, for the next worker here to save.
    try:
        folder.rmdir()
    except OSError:
        return
