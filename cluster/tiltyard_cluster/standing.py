"""The records that stand in the places of runs. A service is asked for them in few requests.

What is there is told by its listing. While a manifest stands, nothing has changed since the records were
compacted, so that their bodies are taken from there; only what is not in it is read one by one.
"""

from collections.abc import Iterable, Mapping

from tiltyard_cluster.bulk import get_all
from tiltyard_cluster.compacted import compacted_records, read_manifest
from tiltyard_cluster.layout import RECORD, RECORDS_FILE, RUNS, run_key
from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_specs.record import RunRecord, parse_record


def standing_records(store: Store, runs: Iterable[PlannedRun]) -> dict[str, RunRecord]:
    """The record in each run's place, by the place; it may be one of another spec.

    Args:
        store: The result.
        runs: Whose places are looked at.

    Raises:
        DataError: There is a record that cannot be read.
    """
    keys = [f"{run_key(run)}/{RECORD}" for run in runs]
    if isinstance(store, FolderStore):
        return _read(store, keys)
    wanted = frozenset(keys)
    there = [key for key in store.list(RUNS) if key in wanted] if keys else []
    known = _compacted(store) if there else {}
    found = {place: known[place] for key in there if (place := _place(key)) in known}
    return found | _read(store, [key for key in there if _place(key) not in found])


def _place(key: str) -> str:
    return key.rpartition("/")[0]


def _read(store: Store, keys: Iterable[str]) -> dict[str, RunRecord]:
    return {_place(key): parse_record(text, key) for key, text in get_all(store, keys) if text is not None}


def _compacted(store: Store) -> Mapping[str, RunRecord]:
    manifest = read_manifest(store, str(store))
    if manifest is None:
        return {}
    records = compacted_records(str(store), store, manifest, RECORDS_FILE)
    return {run_key(record): record for record in records}
