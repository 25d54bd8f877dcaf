"""Turns a finished attempt into results. The write of run.json, the last one, makes a run done."""

from collections.abc import Iterable
from pathlib import Path

from tiltyard_cluster.layout import ATTEMPT, RECORD, SUPERSEDED, attempt_key, run_key
from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError
from tiltyard_specs.record import RunRecord, parse_record

_FILES = ("prompt.txt", "raw.out", "raw.err", "calls.jsonl", "patch.diff", "verify.log", "setup.log")


class Publisher:
    """Writes attempts and records of one trial into a store."""

    def __init__(self, store: Store, *, read_only: bool = False) -> None:
        self.store = store
        self._read_only = read_only

    def done(self, run: PlannedRun) -> RunRecord | None:
        """The run's record, or None when it is not done. A record of an older spec is moved out of the way.

        Raises:
            DataError: There is a record that cannot be read.
        """
        key = f"{run_key(run)}/{RECORD}"
        text = self.store.get(key)
        if text is None:
            return None
        record = parse_record(text, key)
        if record.run_id == run.run_id:
            return record
        if not self._read_only:
            self.store.move(run_key(run), f"{SUPERSEDED}/{record.run_id}")
        return None

    def next_attempt(self, run: PlannedRun) -> int:
        """The ordinal of the attempt that comes next: one more than any that left a trace."""
        prefix = f"{run_key(run)}/attempts/"
        numbers = [key.removeprefix(prefix).partition("/")[0] for key in self.store.list(prefix)]
        return max((int(number) for number in numbers if number.isdigit()), default=0) + 1

    def earlier(self, run: PlannedRun, record: RunRecord, folder: Path) -> None:
        """Keep an attempt that did not settle its run: its spend is never lost."""
        place = attempt_key(run_key(run), record.attempt)
        self._take_files(place, folder)
        self.store.put(f"{place}/{ATTEMPT}", record.to_json().encode())

    def final(self, run: PlannedRun, record: RunRecord, folder: Path) -> None:
        """Settle a run.

        Raises:
            DataError: Somebody else has settled it meanwhile.
        """
        place = run_key(run)
        self._take_files(place, folder)
        if not self.store.put_if_absent(f"{place}/{RECORD}", record.to_json().encode()):
            raise DataError(f"{place}/{RECORD} exists already: is another tiltyard writing to this folder?")

    def retire(self, run: PlannedRun, record: RunRecord) -> None:
        """Make a settled run open again: its record becomes an earlier attempt."""
        place = run_key(run)
        target = attempt_key(place, record.attempt)
        for name in _FILES:
            if self.store.get(f"{place}/{name}") is not None:
                self._copy(f"{place}/{name}", f"{target}/{name}")
        # In this order a crash in between leaves the run settled and loses nothing.
        self.store.put(f"{target}/{ATTEMPT}", record.to_json().encode())
        self.store.remove(f"{place}/{RECORD}")
        for name in _FILES:
            self.store.remove(f"{place}/{name}")

    def _copy(self, source: str, target: str) -> None:
        self.store.put(target, b"".join(self.store.stream(source)))

    def _take_files(self, place: str, folder: Path) -> None:
        for path in _existing(folder):
            self.store.put_file(f"{place}/{path.name}", path)


def _existing(folder: Path) -> Iterable[Path]:
    return [folder / name for name in _FILES if (folder / name).exists()]
