"""Reads a result back: its receipt and its records, and what of it cannot be read."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from tiltyard_cluster.beside import Beside
from tiltyard_cluster.broken_merge import broken_merge, is_broken_merge
from tiltyard_cluster.bulk import get_all, map_keys
from tiltyard_cluster.compacted import compacted_records, read_manifest
from tiltyard_cluster.compacted_check import beside_of
from tiltyard_cluster.layout import (
    ATTEMPTS_FILE,
    MANIFEST,
    RECORDS_FILE,
    RUNS,
    TRIAL,
    attempt_keys,
    record_keys,
    run_key,
)
from tiltyard_cluster.staging import unsettled
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_specs.errors import DataError
from tiltyard_specs.manifest import Manifest
from tiltyard_specs.receipt import TrialReceipt, parse_receipt
from tiltyard_specs.record import RunRecord, parse_record

_MANY = 5000
"""Runs of a folder above which its compacted form is read."""

ParsedT = TypeVar("ParsedT")


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a store holds of a trial."""

    receipt: TrialReceipt | None
    records: tuple[RunRecord, ...]
    """Of settled runs."""
    attempts: tuple[RunRecord, ...] = ()
    """Of attempts that settled nothing, or whose run was opened again: their spend counts."""
    problems: tuple[str, ...] = ()
    """One sentence for each file that could not be read."""
    notes: tuple[str, ...] = ()
    """What was left out on purpose: runs that the receipt does not list, attempts of a killed start."""
    merged: bool = False
    """Whether it was put together from others, where the files of its runs lie."""


def read_result(store: Store, name: str) -> ReadResult:
    """Read a result in any state: its files of runs, or its compacted form where that is all or quicker.

    Args:
        store: Where it lies.
        name: What to call it in messages.

    Raises:
        DataError: There is no trial in it, or it is a merged one and was altered.
    """
    found = _read(store, name)
    left = unsettled(store.root) if isinstance(store, FolderStore) else ()
    return replace(found, notes=(*found.notes, *left)) if left else found


def _read(store: Store, name: str) -> ReadResult:
    manifest = read_manifest(store, name)
    if manifest is None and is_broken_merge(name, store):
        raise broken_merge(name)
    if manifest is not None and (manifest.merged or _is_quicker(store, manifest)):
        try:
            return _read_compacted(store, name, manifest)
        except DataError:
            if manifest.merged:
                raise
    return _read_files(store, name) if manifest is None else _read_both(store, name, manifest)


def _is_quicker(store: Store, manifest: Manifest) -> bool:
    """Whether to trust the manifest, which is there only while nothing is under way."""
    return not isinstance(store, FolderStore) or manifest.present > _MANY


def _read_compacted(store: Store, name: str, manifest: Manifest) -> ReadResult:
    text = store.get(TRIAL)
    if text is None:
        if manifest.merged:
            raise broken_merge(name)
        raise DataError(f"{name} holds no trial: there is no {TRIAL} in it")
    receipt = parse_receipt(text, f"{name}/{TRIAL}")
    records = tuple(compacted_records(name, store, manifest, RECORDS_FILE))
    attempts = tuple(_unsettled(compacted_records(name, store, manifest, ATTEMPTS_FILE), records))
    return ReadResult(receipt, _in_order(records), attempts, merged=manifest.merged)


def _in_order(records: tuple[RunRecord, ...]) -> tuple[RunRecord, ...]:
    """As the files of runs would be listed: by their names."""
    return tuple(sorted(records, key=run_key))


def _read_both(store: Store, name: str, manifest: Manifest) -> ReadResult:
    """The files of runs, compared with what the manifest names, which counts where they differ."""
    beside, wrong = beside_of(name, store, manifest, keep_lines=manifest.present <= _MANY)
    found = _read_files(store, name, beside)
    if found.receipt is not None and found.receipt.plan_id != manifest.plan_id:
        # A start has written its receipt; what was compacted before is out of date.
        return replace(found, problems=tuple(each for each in found.problems if each not in beside.found))
    gone = tuple(beside.gone())
    if found.receipt is not None and set(found.receipt.order) != manifest.runs.keys():
        wrong = (*wrong, f"{name}/{MANIFEST} was altered: it does not name the runs that {TRIAL} does")
    if not (gone or wrong or beside.found or (beside.alone and manifest.present)):
        return found
    if read_manifest(store, name) != manifest:
        # A start began meanwhile.
        return _read(store, name)
    found = replace(found, problems=(*wrong, *found.problems, *gone))
    try:
        counted = _read_compacted(store, name, manifest) if found.receipt is not None else found
    except DataError:
        return found
    return replace(found, records=counted.records, attempts=counted.attempts)


def _read_files(store: Store, name: str, beside: Beside | None = None) -> ReadResult:
    reader = _Reader(store, beside)
    keys = list(store.list(RUNS))
    receipt = next(reader.read([TRIAL], parse_receipt), None)
    if receipt is None and not (record_keys(keys) or attempt_keys(keys) or reader.problems):
        raise DataError(f"{name} holds no trial: there is neither {TRIAL} nor a record under {RUNS}")
    records, notes = _of_plan(receipt, tuple(reader.read(record_keys(keys), parse_record)))
    attempts = tuple(_unsettled(reader.read(attempt_keys(keys), parse_record), records))
    return ReadResult(receipt, records, attempts, tuple(reader.problems), notes)


def read_attempts(store: Store, settled: Iterable[RunRecord]) -> tuple[RunRecord, ...]:
    """The attempts beside the settled ones.

    Raises:
        DataError: One cannot be read.
    """
    texts = get_all(store, attempt_keys(store.list(RUNS)))
    return tuple(_unsettled((parse_record(text or b"", key) for key, text in texts), settled))


def _of_plan(
    receipt: TrialReceipt | None, records: tuple[RunRecord, ...]
) -> tuple[tuple[RunRecord, ...], tuple[str, ...]]:
    """The records of the runs that the receipt expects; of a question that left the spec one may remain."""
    if receipt is None or not receipt.order:
        return records, ()
    order = frozenset(receipt.order)
    inside = tuple(record for record in records if record.run_id in order)
    outside = len(records) - len(inside)
    note = f"left out {outside} records of runs that {TRIAL} does not list: the spec has changed"
    return inside, ((note,) if outside else ())


def _unsettled(attempts: Iterable[RunRecord], settled: Iterable[RunRecord]) -> Iterator[RunRecord]:
    # A driver that was killed while it opened a run again leaves the same attempt twice.
    known = {(record.run_id, record.attempt) for record in settled}
    return (record for record in attempts if (record.run_id, record.attempt) not in known)


def _require_place(key: str, record: RunRecord) -> None:
    """Refuse a record that was copied over another run's: it would count twice, and the other not at all."""
    place = key.rpartition("/")[0].partition("/attempts/")[0]
    if place != run_key(record):
        raise DataError(f"{key}: holds the record of {run_key(record)}, so it is left out")


class _Reader:
    """Parses what it can, and remembers what it cannot."""

    def __init__(self, store: Store, beside: Beside | None) -> None:
        self._store = store
        self._beside = beside
        self.problems: list[str] = []

    def read(self, keys: Iterable[str], parse: Callable[[bytes, str], ParsedT]) -> Iterator[ParsedT]:
        """The objects that can be read; absent ones are left out."""
        for key, found in map_keys(self._store, self._get, keys):
            try:
                if isinstance(found, DataError):
                    raise found
                if found is not None:
                    self._compare(key, found)
                    value = parse(found, key)
                    if isinstance(value, RunRecord):
                        _require_place(key, value)
                    yield value
            except DataError as error:
                self.problems.append(str(error))

    def _compare(self, key: str, text: bytes) -> None:
        if self._beside is not None and key != TRIAL:
            wrong = self._beside.see(key, text)
            if wrong is not None:
                self.problems.append(wrong)

    def _get(self, key: str) -> tuple[str, bytes | DataError | None]:
        try:
            return key, self._store.get(key)
        except DataError as error:
            return key, error
        except OSError as error:
            return key, DataError(f"{key} cannot be read: {error.strerror}")
