"""Writes the union of parts of a plan: every record once, sorted, each copy proven by its digest."""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from tiltyard_cluster.compaction import Files
from tiltyard_cluster.layout import ATTEMPTS_FILE, RECORDS_FILE, TABLE_FILE
from tiltyard_cluster.lines import Key, digest_of, keyed, read_lines
from tiltyard_cluster.merge_sources import Source
from tiltyard_cluster.merge_tally import MergeError, Tally, differ
from tiltyard_cluster.record_tables import join_tables
from tiltyard_specs.errors import DataError
from tiltyard_specs.manifest import FileFact

_TOLD = 10_000
"""Records between two signs of progress."""
_CHUNK = 1 << 18
"""Bytes of one part's records that are read at once."""
_THREADS = 2
"""One joins the tables, one unpacks records ahead; both work outside of Python."""
_Copy = tuple[Key, int, bytes]
"""An earlier attempt in one of the parts: its key, the number of the part, its line."""


@dataclass(frozen=True, slots=True)
class Union:
    """What was written."""

    present: Mapping[str, str]
    """The runs that have a record, and its digest, sorted."""
    attempts: int
    """Earlier attempts."""
    files: Mapping[str, FileFact]


class UnionWriter:
    """Writes the compacted files of the union of some parts.

    Args:
        sources: The parts.
        tally: What all parts of the merge hold.
        out: An empty folder for the files.
        tell: Told how far it is.
    """

    def __init__(
        self, sources: Sequence[Source], tally: Tally, out: Path, tell: Callable[[str], None]
    ) -> None:
        self._sources = sources
        self._tally = tally
        self._out = out
        self._tell = tell

    def write(self) -> Union:
        """Write the files.

        Raises:
            MergeError: A part was altered.
        """
        digests: dict[str, str] = {}
        for source in self._sources:
            digests |= source.present
        runs = sorted(digests)
        files = Files(self._out, table=False)
        try:
            self._write(files, runs)
        except MergeError:
            raise
        except DataError as error:
            raise MergeError(str(error), self._tally) from error
        return Union({run: digests[run] for run in runs}, files.attempts.rows, files.facts())

    def _write(self, files: Files, runs: Sequence[str]) -> None:
        tables = [(source.folder / TABLE_FILE, source.place) for source in self._sources]
        with ThreadPoolExecutor(_THREADS) as pool:
            joined = pool.submit(join_tables, tables, self._out / TABLE_FILE, runs)
            with files:
                self._records(files, pool)
                for line in self._attempts():
                    files.attempts.add(line)
            self._tell("joining tables")
            joined.result()

    def _records(self, files: Files, ahead: Executor) -> None:
        """Copy the settled runs.

        A digest binds each line to the run that the manifest names: nothing is parsed.
        """
        lines = [
            read_lines(source.folder / RECORDS_FILE, _place(source), ahead=ahead, chunk=_CHUNK)
            for source in self._sources
        ]
        digests = [source.present for source in self._sources]
        before = ""
        for run, number in heapq.merge(*(zip(runs, repeat(n)) for n, runs in enumerate(digests))):
            line = next(lines[number], b"")
            if digest_of(line) != digests[number][run] or f'"run_id":"{run}"'.encode() not in line:
                where = _place(self._sources[number])
                label = self._tally.label(run)
                raise DataError(f"{where} was altered: the record of run {label} is not the manifest's")
            # The tally has seen that copies of one run have one digest.
            if run != before:
                files.records.add(line)
                before = run
                if files.records.rows % _TOLD == 0:
                    self._tell(f"merged {files.records.rows} of {self._tally.present} records")
        for source, rest in zip(self._sources, lines, strict=True):
            if next(rest, None) is not None:
                where = _place(source)
                raise DataError(f"{where} was altered: it holds a record that its manifest does not name")

    def _attempts(self) -> Iterator[bytes]:
        """The earlier attempts of all parts in order, each once."""
        kept: _Copy | None = None
        for copy in heapq.merge(*(_attempts(source, number) for number, source in enumerate(self._sources))):
            if kept is None or kept[0] != copy[0]:
                kept = copy
                yield copy[2]
            elif copy[2] != kept[2]:
                raise differ(self._sources[kept[1]], self._sources[copy[1]], [copy[0][0]], self._tally)


def _attempts(source: Source, number: int) -> Iterator[_Copy]:
    where = f"{source.name}/{ATTEMPTS_FILE}"
    for key, line in keyed(read_lines(source.folder / ATTEMPTS_FILE, where), where):
        yield key, number, line


def _place(source: Source) -> str:
    return f"{source.name}/{RECORDS_FILE}"
