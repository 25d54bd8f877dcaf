"""Gathers the records of a result into a few files, and says in a manifest what they hold."""

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tiltyard_cluster.bulk import get_all
from tiltyard_cluster.layout import (
    ATTEMPT,
    ATTEMPTS_FILE,
    MANIFEST,
    RECORD,
    RECORDS_FILE,
    RUNS,
    TABLE_FILE,
    attempt_keys,
    run_key,
)
from tiltyard_cluster.lines import LineWriter, digest_of, file_sha256
from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.record_tables import TableWriter
from tiltyard_cluster.store import Store
from tiltyard_specs.canonical import canonical_json
from tiltyard_specs.manifest import FileFact, Manifest
from tiltyard_specs.receipt import ShardName
from tiltyard_specs.record import parse_record

_NAMES = (f"/{RECORD}", f"/{ATTEMPT}")
"""How keys of records end."""


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a plan that a result is to hold."""

    plan_id: str
    trial: str
    runs: tuple[PlannedRun, ...]
    shard: ShardName | None = None


def compact(store: Store, share: Share) -> Manifest:
    """Write the compacted files of a result, and its manifest last.

    Args:
        store: The result, with its run.json files.
        share: What it is to hold; records of other runs are left out.

    Raises:
        DataError: A record cannot be read.
    """
    with scratch_folder() as folder:
        manifest = compact_into(folder, store, share)
        store.remove(MANIFEST)
        for name in manifest.files:
            store.put_file(name, folder / name)
        store.put(MANIFEST, manifest.to_json().encode())
    return manifest


def compact_into(folder: Path, store: Store, share: Share) -> Manifest:
    """Write the compacted files into a folder; see `compact`."""
    runs: dict[str, str | None] = {}
    with Files(folder) as files:
        there = [key for key in store.list(RUNS) if key.endswith(_NAMES)]
        for run_id, line in _records(store, share, frozenset(there)):
            runs[run_id] = None if line is None else digest_of(line)
            if line is not None:
                files.add(line)
        for _, line in sorted(_attempts(store, share, there)):
            files.attempts.add(line)
    return Manifest(
        plan_id=share.plan_id,
        trial=share.trial,
        shard=share.shard,
        partial=None in runs.values(),
        runs=runs,
        files=files.facts(),
    )


class Files:
    """The compacted files of a result under way. A context manager.

    Args:
        folder: Where they are written.
        table: Whether to write the table as well.
    """

    def __init__(self, folder: Path, *, table: bool = True) -> None:
        self._folder = folder
        self.records = LineWriter(folder / RECORDS_FILE)
        self.attempts = LineWriter(folder / ATTEMPTS_FILE)
        self._table = TableWriter(folder / TABLE_FILE) if table else None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.records)
            stack.enter_context(self.attempts)
            if self._table is not None:
                stack.enter_context(self._table)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._open.__exit__(*error)  # type: ignore[arg-type]  # handed on as they come

    def add(self, line: bytes) -> None:
        """One more settled run; runs come sorted by id."""
        self.records.add(line)
        if self._table is not None:
            self._table.add(json.loads(line))

    def facts(self) -> dict[str, FileFact]:
        """What stands in the files, once they are closed."""
        rows = {
            RECORDS_FILE: self.records.rows,
            ATTEMPTS_FILE: self.attempts.rows,
            TABLE_FILE: self.records.rows,
        }
        return {
            name: FileFact(sha256=file_sha256(self._folder / name), rows=count)
            for name, count in rows.items()
        }


def _records(store: Store, share: Share, there: frozenset[str]) -> Iterator[tuple[str, bytes | None]]:
    """Each run of the share by its id, and its record as canonical JSON; None where it has none of this plan.

    Raises:
        DataError: One cannot be read.
    """
    runs = sorted(share.runs, key=lambda run: run.run_id)
    keys = [f"{run_key(run)}/{RECORD}" for run in runs]
    texts = get_all(store, (key for key in keys if key in there))
    for run, key in zip(runs, keys, strict=True):
        text = next(texts)[1] if key in there else None
        own = text is not None and parse_record(text, key).run_id == run.run_id
        yield run.run_id, canonical_line(text) if own and text is not None else None


def canonical_line(text: bytes) -> bytes:
    """A record's canonical JSON. From the text as it is: a later version would add its own keys."""
    return canonical_json(json.loads(text)).encode()


def _attempts(store: Store, share: Share, there: Sequence[str]) -> Iterator[tuple[tuple[str, int], bytes]]:
    """The earlier attempts of the share's runs."""
    wanted = {run.run_id for run in share.runs}
    for key, text in get_all(store, attempt_keys(there)):
        if text is not None:
            record = parse_record(text, key)
            if record.run_id in wanted:
                yield (record.run_id, record.attempt), canonical_line(text)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for files under way, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="tiltyard-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_compacted(
    store: Store, names: Iterable[str] = (MANIFEST, RECORDS_FILE, ATTEMPTS_FILE, TABLE_FILE)
) -> None:
    """Remove the compacted form, the manifest first: it is out of date once a run begins."""
    for name in names:
        store.remove(name)
