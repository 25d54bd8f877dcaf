"""Tells a merged result whose writing was broken off from a trial without records."""

from pathlib import Path

from tiltyard_cluster.compaction import scratch_folder
from tiltyard_cluster.layout import ATTEMPTS_FILE, RECORDS_FILE, RUNS, TABLE_FILE, TRIAL
from tiltyard_cluster.lines import read_lines
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_specs.errors import DataError


def broken_merge(name: str) -> DataError:
    """What to raise for a merged result that was not written to its end."""
    return DataError(f"{name} holds a merged result whose writing was broken off: merge its parts again")


def is_broken_merge(name: str, store: Store) -> bool:
    """Whether a place without a manifest holds what a merge left that was broken off.

    Args:
        name: What to call it.
        store: The place.
    """
    if next(store.list(RUNS), None) is not None:
        return False
    return _is_left(name, store, trial=store.get(TRIAL) is not None)


def _is_left(name: str, store: Store, *, trial: bool) -> bool:
    """Whether compacted files that no manifest names are more than what a start that did nothing leaves."""
    if trial:
        return RECORDS_FILE in store.list(RECORDS_FILE) and _has_records(name, store)
    return any(file in store.list(file) for file in (RECORDS_FILE, ATTEMPTS_FILE, TABLE_FILE))


def _has_records(name: str, store: Store) -> bool:
    where = f"{name}/{RECORDS_FILE}"
    if isinstance(store, FolderStore):
        return next(read_lines(store.root / RECORDS_FILE, where), None) is not None
    with scratch_folder() as folder:
        path = Path(folder, RECORDS_FILE)
        with path.open("wb") as file:
            file.writelines(store.stream(RECORDS_FILE))
        return next(read_lines(path, where), None) is not None
