"""Publishing where several machines may come to settle one run: one of them does, all records stay.

An attempt is claimed before it begins, so that no number is used twice. Its files go to a folder of its own
first; the conditional write of run.json decides whose run it is; the winner's files then move beside it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tiltyard_cluster.disk import disk_trouble, require_room
from tiltyard_cluster.layout import ATTEMPT, RECORD, attempt_key, run_key
from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.publish import CLAIM, Publisher
from tiltyard_cluster.staging import write_down
from tiltyard_cluster.store import FolderStore
from tiltyard_specs.errors import DataError
from tiltyard_specs.record import RunRecord, parse_record


class SharedPublisher(Publisher):
    """A publisher of one among many machines."""

    def settled(self, run: PlannedRun) -> RunRecord | None:
        """The run's record, if it has one; a record of another spec is none."""
        key = f"{run_key(run)}/{RECORD}"
        text = self.store.get(key)
        record = None if text is None else parse_record(text, key)
        return record if record is not None and record.run_id == run.run_id else None

    def claim(self, run: PlannedRun, attempt: int, node: str) -> bool:
        """Take the number of an attempt; False where it was taken before."""
        self.open()
        key = f"{attempt_key(run_key(run), attempt)}/{CLAIM}"
        text = json.dumps({"run_id": run.run_id, "attempt": attempt, "node": node})
        return self.store.put_if_absent(key, text.encode())

    def settle(self, run: PlannedRun, record: RunRecord, folder: Path) -> bool:
        """Settle a run with the attempt in `folder`; False where another has, and this one is kept."""
        write_down(folder, RECORD, record.to_json().encode())
        return self._decide(run, record, folder)

    def finish(self, run: PlannedRun, record: RunRecord, folder: Path | None) -> None:
        """See `Publisher`: what a killed node has left undone, its next start carries out in the same way.

        Raises:
            DataError: Another attempt has settled the run meanwhile; this one is kept beside it.
        """
        if not self._decide(run, record, folder):
            raise DataError(f"{run_key(run)}/{RECORD} exists already: another attempt has settled this run")

    def _decide(self, run: PlannedRun, record: RunRecord, folder: Path | None) -> bool:
        self.open()
        if folder is not None:
            self.earlier(run, record, folder)
        key, text = f"{run_key(run)}/{RECORD}", record.to_json().encode()
        if not self.store.put_if_absent(key, text) and self.store.get(key) != text:
            return False
        self.tidy(run, record)
        return True

    def earlier(self, run: PlannedRun, record: RunRecord, folder: Path) -> None:
        """See `Publisher`."""
        super().earlier(run, record, folder)
        self.store.remove(f"{attempt_key(run_key(run), record.attempt)}/{CLAIM}")

    def number_of(self, run: PlannedRun, record: RunRecord) -> int:  # noqa: ARG002  # as `Publisher` has it
        """See `Publisher`. Here a number is claimed before its attempt begins: it is no other's."""
        return record.attempt

    def lost(self, run: PlannedRun, record: RunRecord) -> bool:
        """Put an attempt on record that nobody may be left to tell of; False where it has one."""
        self.open()
        own = attempt_key(run_key(run), record.attempt)
        key = f"{own}/{ATTEMPT}"
        if not self.store.put_if_absent(key, record.to_json().encode()):
            return False
        self.store.remove(f"{own}/{CLAIM}")
        settled = self.settled(run)
        if settled is not None and settled.attempt == record.attempt:
            # It has come back in the same moment, and settled its run.
            self.store.remove(key)
            return False
        return True

    def give_up(self, run: PlannedRun, record: RunRecord) -> RunRecord:
        """Settle a run whose attempts were all lost with the last of them.

        Args:
            run: The run.
            record: What to say where that attempt has left nothing.

        Returns:
            The run's record, which may have come from elsewhere meanwhile.
        """
        key = f"{attempt_key(run_key(run), record.attempt)}/{ATTEMPT}"
        text = self.store.get(key)
        last = record if text is None else parse_record(text, key)
        if self._decide(run, last, None):
            return last
        settled = self.settled(run)
        return last if settled is None else settled

    def tidy(self, run: PlannedRun, record: RunRecord) -> None:
        """Move the files of the attempt that has settled a run beside its record. Can be done again."""
        place, own = run_key(run), attempt_key(run_key(run), record.attempt)
        keys = list(self.store.list(f"{place}/"))
        marks = [key for key in (f"{own}/{CLAIM}", f"{own}/{ATTEMPT}") if key in keys]
        if any(key.startswith(f"{own}/") and key not in marks for key in keys):
            # Files that an attempt left here whose run was opened again.
            marks += [key for key in keys if "/" not in key.removeprefix(f"{place}/")]
        for key in marks:
            if key != f"{place}/{RECORD}":
                self.store.remove(key)
        self.store.move(own, place)


class DriverPublisher(SharedPublisher):
    """The publisher of a cluster's driver: a results folder that takes nothing more ends the trial.

    A node that cannot write there is lost for the moment. Whether that is the node's trouble or the folder's
    shows when the driver puts the attempt on record that was lost with it.
    """

    def require_room(self) -> None:
        """See that a further attempt's files fit.

        Raises:
            ResultsFolderError: They may not, or the folder is gone.
        """
        if isinstance(self.store, FolderStore):
            require_room(self.store.root)

    def settled(self, run: PlannedRun) -> RunRecord | None:
        """See `SharedPublisher`."""
        with self._told():
            return super().settled(run)

    def lost(self, run: PlannedRun, record: RunRecord) -> bool:
        """See `SharedPublisher`."""
        with self._told():
            return super().lost(run, record)

    def give_up(self, run: PlannedRun, record: RunRecord) -> RunRecord:
        """See `SharedPublisher`."""
        with self._told():
            return super().give_up(run, record)

    @contextmanager
    def _told(self) -> Iterator[None]:
        if not isinstance(self.store, FolderStore):
            yield
            return
        with disk_trouble(self.store.root):
            yield
