"""Joins results of parts of a plan into one, and proves what it holds.

Merging is a union of sets of records, written down sorted: in any order and grouping it gives the same bytes.
Everything is checked that is given: the compacted files by their digests, each record by the manifest's, and
each run.json by the record. Memory does not grow with the records, only with the list of runs.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

from tiltyard_cluster.compaction import Files, scratch_folder
from tiltyard_cluster.layout import ATTEMPTS_FILE, MANIFEST, RECORDS_FILE, TABLE_FILE, TRIAL
from tiltyard_cluster.lines import Key, digest_of, keyed, read_lines
from tiltyard_cluster.merge_sources import Source, open_source
from tiltyard_cluster.merged_receipt import merge_receipts
from tiltyard_cluster.record_tables import join_tables
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError
from tiltyard_specs.manifest import Manifest
from tiltyard_specs.plan_file import PlanFile

_NAMED = 5
"""How many runs a message names."""


@dataclass(slots=True)
class Tally:
    """What a merge has found; printed always."""

    expected: int = 0
    """Runs of the plan."""
    present: int = 0
    """Of them with a record."""
    missing: list[str] = field(default_factory=list)
    """Of them without one."""
    duplicate: int = 0
    """Identical copies that were dropped."""
    foreign: list[str] = field(default_factory=list)
    """Runs that the plan does not hold."""
    attempts: int = 0
    """Earlier attempts, whose spend counts."""

    def words(self) -> str:
        """One line for people."""
        return (
            f"{self.expected} expected, {self.present} present, {len(self.missing)} missing, "
            f"{self.duplicate} duplicate, {len(self.foreign)} foreign"
        )


class MergeError(DataError):
    """The parts do not make a whole; the tally says why."""

    def __init__(self, message: str, tally: Tally) -> None:
        super().__init__(f"{message} ({tally.words()})")
        self.tally = tally


def merge(
    plan: PlanFile, parts: Sequence[tuple[str, Store]], target: Store, *, allow_partial: bool = False
) -> Tally:
    """Merge results of parts of a plan.

    Args:
        plan: The plan.
        parts: Address and store of each part: a shard, a whole result, or a merged one.
        target: Where the merged result goes; an earlier one in it is replaced.
        allow_partial: Write it though runs are missing. The result says PARTIAL and no verdict rests on it.

    Returns:
        What was found.

    Raises:
        DataError: A part is of another plan or was altered, two differ on a run, runs are missing or foreign.
    """
    with scratch_folder() as folder:
        sources = []
        for number, (name, store) in enumerate(parts):
            scratch = folder / str(number)
            scratch.mkdir()
            sources.append(open_source(name, store, plan, scratch, allow_partial=allow_partial))
        out = folder / "merged"
        out.mkdir()
        merger = _Merger(plan, sources, out)
        manifest = merger.run(allow_partial=allow_partial)
        receipt = merge_receipts([source.receipt for source in sources], plan, len(merger.tally.missing))
        target.remove(MANIFEST)
        for name in manifest.files:
            target.put_file(name, out / name)
        target.put(TRIAL, receipt.to_json().encode())
        target.put(MANIFEST, manifest.to_json().encode())
    return merger.tally


_Copy = tuple[Key, int, bytes]
"""Of a record: its key, the number of the source, and its line."""


class _Merger:
    def __init__(self, plan: PlanFile, sources: Sequence[Source], out: Path) -> None:
        self._plan = plan
        self._sources = sources
        self._out = out
        self._digests: dict[str, str | None] = dict.fromkeys(sorted(plan.runs.run_id))
        self.tally = Tally(expected=len(self._digests))

    def run(self, *, allow_partial: bool) -> Manifest:
        files = Files(self._out, table=False)
        with files:
            for (run_id, _), line in self._one_each(RECORDS_FILE, by_run=True):
                self._digests[run_id] = digest_of(line)
                files.records.add(line)
            for _, line in self._one_each(ATTEMPTS_FILE, by_run=False):
                files.attempts.add(line)
        self.tally.attempts = files.attempts.rows
        self.tally.present = files.records.rows
        self.tally.missing = [run for run, digest in self._digests.items() if digest is None]
        self._require_whole(allow_partial=allow_partial)
        join_tables(
            [(source.folder / TABLE_FILE, source.name) for source in self._sources], self._out / TABLE_FILE
        )
        return self._manifest(files)

    def _require_whole(self, *, allow_partial: bool) -> None:
        if self.tally.foreign:
            raise MergeError(
                f"the parts hold runs that are not in the plan: {_some(self.tally.foreign)}", self.tally
            )
        if self.tally.missing and not allow_partial:
            raise MergeError(
                f"runs are missing: {_some(self.tally.missing)}; run what is left, "
                "or merge what there is with --allow-partial",
                self.tally,
            )

    def _manifest(self, files: Files) -> Manifest:
        return Manifest(
            plan_id=self._plan.plan_id,
            trial=self._plan.trial,
            merged=True,
            partial=bool(self.tally.missing),
            runs=self._digests,
            files=files.facts(),
        )

    def _one_each(self, name: str, *, by_run: bool) -> Iterator[tuple[Key, bytes]]:
        """The lines of all sources in order, one of each key."""
        streams = [self._stream(number, name) for number in range(len(self._sources))]
        kept: _Copy | None = None
        for copy in heapq.merge(*streams, key=itemgetter(0)):
            if kept is not None and (kept[0][0] == copy[0][0] if by_run else kept[0] == copy[0]):
                self._drop(copy, kept)
                self.tally.duplicate += by_run
                continue
            kept = copy
            if copy[0][0] in self._digests:
                yield copy[0], copy[2]
            elif by_run:
                self.tally.foreign.append(copy[0][0])

    def _drop(self, copy: _Copy, kept: _Copy) -> None:
        """See that a further copy says the same."""
        (run_id, attempt), number, line = copy
        if line != kept[2]:
            names = f"{self._sources[kept[1]].name} and {self._sources[number].name}"
            raise MergeError(
                f"{names} differ on run {run_id}, attempt {attempt}: leave the one out that you do not trust",
                self.tally,
            )

    def _stream(self, number: int, name: str) -> Iterator[_Copy]:
        source = self._sources[number]
        where = f"{source.name}/{name}"
        rows = 0
        for key, line in keyed(read_lines(source.folder / name, where), where):
            rows += 1
            if name == RECORDS_FILE and source.manifest.runs.get(key[0]) != digest_of(line):
                raise DataError(f"{where} was altered: the record of run {key[0]} is not the manifest's")
            yield key, number, line
        if name == RECORDS_FILE and rows != source.manifest.present:
            raise DataError(f"{where} holds {rows} records, and its manifest names {source.manifest.present}")


def _some(runs: Sequence[str]) -> str:
    more = f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
    return ", ".join(runs[:_NAMED]) + more
