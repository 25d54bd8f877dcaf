"""Joins results of parts of a plan into one, and proves what it holds.

Merging is a union of sets of records, written down sorted: in any order and grouping it gives the same bytes.
Everything is checked that is given: the compacted files by their digests, each record by the manifest's, and
each run.json by the record. Memory does not grow with the records, only with the list of runs.
"""

import gc
import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tiltyard_cluster.compaction import Files, scratch_folder
from tiltyard_cluster.layout import ATTEMPTS_FILE, MANIFEST, RECORDS_FILE, TABLE_FILE, TRIAL
from tiltyard_cluster.lines import Key, digest_of, keyed, read_lines
from tiltyard_cluster.merge_sources import Source, open_source
from tiltyard_cluster.merged_receipt import merge_receipts
from tiltyard_cluster.record_tables import join_tables
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError, UsageError
from tiltyard_specs.manifest import Manifest
from tiltyard_specs.plan_file import PlanFile

_NAMED = 5
"""How many runs a message names."""
_TOLD = 10_000
"""Records between two signs of progress."""


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
    plan: PlanFile,
    parts: Sequence[tuple[str, Store]],
    target: Store,
    *,
    allow_partial: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Tally:
    """Merge results of parts of a plan.

    Args:
        plan: The plan.
        parts: Address and store of each part: a shard, a whole result, or a merged one.
        target: Where the merged result goes; an earlier one in it is replaced.
        allow_partial: Write it though runs are missing. The result says PARTIAL and no verdict rests on it.
        tell: Told what is being done.

    Returns:
        What was found.

    Raises:
        MergeError: A part is of another plan, has not ended or was altered, two differ on a run, runs are
            missing or foreign. Its tally says what was found.
    """
    if not parts:
        raise UsageError("there is nothing to merge: give at least one result")
    with scratch_folder() as folder, _no_collecting():
        sources = _open_all(plan, parts, folder, tell, allow_partial=allow_partial)
        out = folder / "merged"
        out.mkdir()
        merger = _Merger(plan, sources, out, tell)
        manifest = merger.run(allow_partial=allow_partial)
        receipt = merge_receipts([source.receipt for source in sources], plan, len(merger.tally.missing))
        tell(f"writing {merger.tally.present} records")
        # Without both it is no trial, which nobody reads or adds to.
        target.remove(MANIFEST)
        target.remove(TRIAL)
        for name in manifest.files:
            target.put_file(name, out / name)
        target.put(TRIAL, receipt.to_json().encode())
        target.put(MANIFEST, manifest.to_json().encode())
    return merger.tally


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Within the block no cycles are looked for: among millions of texts that costs, and none are made."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


def _open_all(
    plan: PlanFile,
    parts: Sequence[tuple[str, Store]],
    folder: Path,
    tell: Callable[[str], None],
    *,
    allow_partial: bool,
) -> list[Source]:
    """Open every part, so that all that is wrong with any of them is told at once."""
    sources, problems = [], []
    for number, (name, store) in enumerate(parts):
        tell(f"checking {name}, {number + 1} of {len(parts)}")
        scratch = folder / str(number)
        scratch.mkdir()
        try:
            sources.append(open_source(name, store, plan, scratch, allow_partial=allow_partial))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise MergeError("; ".join(problems), _tally(plan, sources))
    return sources


def _tally(plan: PlanFile, sources: Sequence[Source]) -> Tally:
    """What the manifests say that there is.

    Raises:
        MergeError: Two differ on a run.
    """
    found: dict[str, str] = {}
    tally = Tally(expected=len(plan.runs.run_id))
    conflict: tuple[str, Source] | None = None
    for source in sources:
        for run, digest in source.manifest.runs.items():
            if digest is None:
                continue
            if run not in found:
                found[run] = digest
            elif found[run] == digest:
                tally.duplicate += 1
            else:
                conflict = conflict or (run, source)
    tally.missing = sorted(run for run in plan.runs.run_id if run not in found)
    tally.present = tally.expected - len(tally.missing)
    if len(found) > tally.present:
        tally.foreign = sorted(found.keys() - set(plan.runs.run_id))
    if conflict is not None:
        run, source = conflict
        other = next(each for each in sources if each.manifest.runs.get(run) is not None)
        raise _differ(other, source, run, tally)
    return tally


def _differ(first: Source, second: Source, run: str, tally: Tally) -> MergeError:
    return MergeError(
        f"{first.name} and {second.name} differ on run {run}: leave the one out that you do not trust", tally
    )


_Copy = tuple[Key, int, bytes]
"""A record in one of the sources: its key, the number of the source, its line."""


class _Merger:
    def __init__(
        self, plan: PlanFile, sources: Sequence[Source], out: Path, tell: Callable[[str], None]
    ) -> None:
        self._plan = plan
        self._sources = sources
        self._out = out
        self._tell = tell
        self._digests: dict[str, str | None] = dict.fromkeys(sorted(plan.runs.run_id))
        self.tally = _tally(plan, sources)

    def run(self, *, allow_partial: bool) -> Manifest:
        self._require_whole(allow_partial=allow_partial)
        files = Files(self._out, table=False)
        try:
            self._write(files)
        except MergeError:
            raise
        except DataError as error:
            raise MergeError(str(error), self.tally) from error
        self.tally.attempts = files.attempts.rows
        return self._manifest(files)

    def _write(self, files: Files) -> None:
        with files:
            for (run, _), number, line in self._one_each(_records):
                self._digests[run] = self._sources[number].manifest.runs[run]
                files.records.add(line)
                if files.records.rows % _TOLD == 0:
                    self._tell(f"merged {files.records.rows} of {self.tally.present} records")
            for _, _, line in self._one_each(_attempts):
                files.attempts.add(line)
        self._tell("joining tables")
        join_tables(
            [(source.folder / TABLE_FILE, source.name) for source in self._sources],
            self._out / TABLE_FILE,
            [run for run, digest in self._digests.items() if digest is not None],
        )

    def _one_each(self, read: Callable[[Source, int], Iterator[_Copy]]) -> Iterator[_Copy]:
        """The copies of all sources in order, one of each key."""
        kept: _Copy | None = None
        for copy in heapq.merge(*(read(source, number) for number, source in enumerate(self._sources))):
            if kept is None or kept[0] != copy[0]:
                kept = copy
                yield copy
            elif copy[2] != kept[2]:
                first, second = self._sources[kept[1]], self._sources[copy[1]]
                raise _differ(first, second, copy[0][0], self.tally)

    def _require_whole(self, *, allow_partial: bool) -> None:
        tally = self.tally
        if tally.foreign:
            raise MergeError(f"the parts hold runs that are not in the plan: {_some(tally.foreign)}", tally)
        if tally.missing and not allow_partial:
            raise MergeError(
                f"runs are missing: {_some(tally.missing)}; run what is left, "
                "or merge what there is with --allow-partial",
                tally,
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


_SETTLED = 0
"""Stands for the attempt in the keys of settled runs, of which there is one each."""


def _records(source: Source, number: int) -> Iterator[_Copy]:
    """The settled runs. A digest binds each line to the run that the manifest names: nothing is parsed."""
    where = f"{source.name}/{RECORDS_FILE}"
    named = [(run, digest) for run, digest in sorted(source.manifest.runs.items()) if digest]
    lines = read_lines(source.folder / RECORDS_FILE, where)
    for run, digest in named:
        line = next(lines, b"")
        if digest_of(line) != digest or f'"run_id":"{run}"'.encode() not in line:
            raise DataError(f"{where} was altered: the record of run {run} is not the manifest's")
        yield (run, _SETTLED), number, line
    if next(lines, None) is not None:
        raise DataError(f"{where} was altered: it holds a record that its manifest does not name")


def _attempts(source: Source, number: int) -> Iterator[_Copy]:
    where = f"{source.name}/{ATTEMPTS_FILE}"
    for key, line in keyed(read_lines(source.folder / ATTEMPTS_FILE, where), where):
        yield key, number, line


def _some(runs: Sequence[str]) -> str:
    more = f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
    return ", ".join(runs[:_NAMED]) + more
