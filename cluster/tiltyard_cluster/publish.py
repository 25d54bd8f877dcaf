"""Turns a finished attempt into results. The write of run.json, the last one, makes a run done.

What an attempt came to is first written down in its staging folder, under the name that it will have. From
there on a killed driver loses nothing: the next start carries the same steps out again, to the same end.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tiltyard_cluster.layout import ATTEMPT, MANIFEST, RECORD, SUPERSEDED, attempt_key, attempt_keys, run_key
from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.staging import write_down
from tiltyard_cluster.standing import standing_records
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError
from tiltyard_specs.record import RunRecord, parse_record

CLAIM = "begun.json"
"""Says, in the folder of an attempt, which node of a cluster is at it."""
_FILES = (
    "prompt.txt",
    "raw.out",
    "raw.err",
    "calls.jsonl",
    "patch.diff",
    "verify.log",
    "setup.log",
    "agent.json",
)


class Publisher:
    """Writes attempts and records of one trial into a store.

    Args:
        store: Where they go.
        read_only: Look, and move nothing.
    """

    def __init__(self, store: Store, *, read_only: bool = False) -> None:
        self.store = store
        self.read_only = read_only
        self.superseded: list[RunRecord] = []
        """Records of an older spec that `done` has met in the place of a run."""
        self.superseded_attempts: list[RunRecord] = []
        """The earlier attempts beside them."""
        self._open = False

    def open(self) -> None:
        """Say that the result is under way: its compacted form, if there is one, is out of date from now on.

        Whatever changes the result does so by itself.
        """
        if not self._open:
            self.store.remove(MANIFEST)
        self._open = True

    def done(self, run: PlannedRun) -> RunRecord | None:
        """The run's record, or None when it is not done; see `all_done`."""
        return self.all_done([run]).get(run.run_id)

    def all_done(self, runs: Sequence[PlannedRun]) -> dict[str, RunRecord]:
        """The records of those of some runs that are done, by run id.

        A record of an older spec is moved out of the way, and comes back when the spec does.

        Raises:
            DataError: There is a record that cannot be read.
        """
        standing = standing_records(self.store, runs)
        done = {
            run.run_id: record
            for run in runs
            if (record := standing.get(run_key(run))) is not None and record.run_id == run.run_id
        }
        left = [run for run in runs if run.run_id not in done]
        aside = set(self.store.list(f"{SUPERSEDED}/")) if left else set()
        for run in left:
            if (other := standing.get(run_key(run))) is not None:
                self._supersede(run_key(run), other)
                aside.add(f"{SUPERSEDED}/{other.run_id}/{RECORD}")
            if f"{SUPERSEDED}/{run.run_id}/{RECORD}" in aside and (record := self._brought_back(run)):
                done[run.run_id] = record
        return done

    def _supersede(self, place: str, record: RunRecord) -> None:
        keys = attempt_keys(self.store.list(f"{place}/attempts/"))
        attempts = [parse_record(self.store.get(key) or b"", key) for key in keys]
        self.superseded.append(record)
        self.superseded_attempts += [each for each in attempts if each.attempt != record.attempt]
        if not self.read_only:
            self.open()
            self.store.move(place, f"{SUPERSEDED}/{record.run_id}")

    def _brought_back(self, run: PlannedRun) -> RunRecord | None:
        earlier = f"{SUPERSEDED}/{run.run_id}"
        record = self._read(earlier)
        if record is not None and not self.read_only:
            self.open()
            self.store.move(earlier, run_key(run))
        return record

    def _read(self, place: str) -> RunRecord | None:
        key = f"{place}/{RECORD}"
        text = self.store.get(key)
        return None if text is None else parse_record(text, key)

    def next_attempt(self, run: PlannedRun) -> int:
        """The ordinal of the attempt that comes next: one more than any that left a trace."""
        prefix = f"{run_key(run)}/attempts/"
        numbers = [key.removeprefix(prefix).partition("/")[0] for key in self.store.list(prefix)]
        return max((int(number) for number in numbers if number.isdigit()), default=0) + 1

    def earlier(self, run: PlannedRun, record: RunRecord, folder: Path) -> None:
        """Keep an attempt that did not settle its run: its spend is never lost.

        Args:
            run: The run.
            record: What the attempt came to.
            folder: Its staging folder; its files go into the store.
        """
        number = self.number_of(run, record)
        if number != record.attempt:
            record = record.model_copy(update={"attempt": number})
        text = record.to_json().encode()
        # From here on it has this number, whoever comes to finish it.
        write_down(folder, ATTEMPT, text)
        self.open()
        place = attempt_key(run_key(run), number)
        self._take_files(place, folder)
        self.store.put(f"{place}/{ATTEMPT}", text)

    def number_of(self, run: PlannedRun, record: RunRecord) -> int:
        """Under which number an attempt goes on record: its own, or a new one where another attempt has that.

        A driver that was killed has told no other machine of its attempt, so that one may use its number.
        """
        place = run_key(run)
        own = attempt_key(place, record.attempt)
        settled = self._read(place)
        claimed = self.store.get(f"{own}/{CLAIM}") is not None
        there = self.store.get(f"{own}/{ATTEMPT}")
        taken = settled.attempt if settled is not None and settled.run_id == run.run_id else 0
        if there is None and taken != record.attempt and not claimed:
            return record.attempt
        if there == record.to_json().encode():
            return record.attempt
        return max(self.next_attempt(run), taken + 1, record.attempt + 1)

    def final(self, run: PlannedRun, record: RunRecord, folder: Path | None = None) -> None:
        """Settle a run.

        Args:
            run: The run.
            record: What it came to.
            folder: The staging folder of its attempt; None where no attempt began.

        Raises:
            DataError: Somebody else has settled it meanwhile.
        """
        place = run_key(run)
        if self.store.get(f"{place}/{RECORD}") is not None:
            raise DataError(f"{place}/{RECORD} exists already: is another tiltyard writing to this folder?")
        self.open()
        # A start that was killed while it reopened this run may have left files of its earlier attempt.
        self._remove_files(place)
        if folder is not None:
            write_down(folder, RECORD, record.to_json().encode())
        self.finish(run, record, folder)

    def finish(self, run: PlannedRun, record: RunRecord, folder: Path | None) -> None:
        """The second half of `final`, which a later start can carry out for a killed one.

        Raises:
            DataError: Somebody else has settled the run meanwhile.
        """
        place, text = run_key(run), record.to_json().encode()
        # Before its files could take the place of another attempt's.
        self._require_ours(place, text)
        self.open()
        if folder is not None:
            self._take_files(place, folder)
        if not self.store.put_if_absent(f"{place}/{RECORD}", text):
            self._require_ours(place, text)

    def _require_ours(self, place: str, text: bytes) -> None:
        there = self.store.get(f"{place}/{RECORD}")
        if there is not None and there != text:
            raise DataError(f"{place}/{RECORD} exists already: is another tiltyard writing to this folder?")

    def retire(self, run: PlannedRun, record: RunRecord) -> None:
        """Make a settled run open again: its record becomes an earlier attempt."""
        self.open()
        place = run_key(run)
        target = attempt_key(place, record.attempt)
        for name in _FILES:
            if self.store.get(f"{place}/{name}") is not None:
                self._copy(f"{place}/{name}", f"{target}/{name}")
        # In this order a crash in between leaves the run settled and loses nothing.
        self.store.put(f"{target}/{ATTEMPT}", record.to_json().encode())
        self.store.remove(f"{place}/{RECORD}")
        self._remove_files(place)

    def _copy(self, source: str, target: str) -> None:
        self.store.put(target, b"".join(self.store.stream(source)))

    def _remove_files(self, place: str) -> None:
        for name in _FILES:
            self.store.remove(f"{place}/{name}")

    def _take_files(self, place: str, folder: Path) -> None:
        self.store.put_files(place, _existing(folder))


def _existing(folder: Path) -> Iterable[Path]:
    return [folder / name for name in _FILES if (folder / name).exists()]
