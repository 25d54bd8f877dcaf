"""Runs blocks on this machine: one thread and one slot for each run at a time."""

import queue
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tiltyard_cluster.disk import disk_trouble, require_room
from tiltyard_cluster.engine_watch import await_engine
from tiltyard_cluster.events import Listener, RunStarted
from tiltyard_cluster.executor import Finished, OpenRun
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.staging import begin
from tiltyard_runner.attempt import execute
from tiltyard_runner.job import Place
from tiltyard_runner.slot import Slot
from tiltyard_specs.errors import UnavailableError
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import RunRecord

_UNSETTLED = frozenset({Outcome.INFRA, Outcome.CANCELLED})
_BACKOFF = 2.0


class LocalExecutor:
    """Threads around the engine.

    Args:
        parallel: Runs at once.
        open_slot: Makes the slot of one thread; entered and left by that thread.
        place: Makes the place of a slot.
        publisher: Where attempts go.
        staging: Folder for files of attempts under way; on the same file system as a folder store.
        retries: Further attempts after an infra outcome.
        stop: Set to end runs under way.
        enough: Asked with each attempt's record before anything further begins; true ends the trial there.
        listen: Hears of each start.
    """

    def __init__(  # noqa: PLR0913  # the parts it composes
        self,
        *,
        parallel: int,
        open_slot: Callable[[int], Slot],
        place: Callable[[Slot], Place],
        publisher: Publisher,
        staging: Path,
        retries: int,
        stop: threading.Event,
        enough: Callable[[RunRecord], bool],
        listen: Listener,
    ) -> None:
        self._parallel = parallel
        self._open_slot = open_slot
        self._place = place
        self._publisher = publisher
        self._staging = staging
        self._retries = retries
        self._stop_now = stop
        self._stop_soon = threading.Event()
        self._enough = enough
        self._listen = listen
        self._blocks: queue.SimpleQueue[Sequence[OpenRun] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Finished | BaseException | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.cancel(now=True)
        for thread in self._threads:
            thread.join()

    def submit(self, block: Sequence[OpenRun]) -> None:
        """See `Executor`."""
        self._blocks.put(block)

    def results(self) -> Iterator[Finished]:
        """See `Executor`."""
        for number in range(self._parallel):
            self._blocks.put(None)
            thread = threading.Thread(target=self._work, args=(number,), name=f"slot-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()
        working = self._parallel
        while working:
            result = self._results.get()
            if result is None:
                working -= 1
            elif isinstance(result, BaseException):
                self.cancel(now=True)
                raise result
            else:
                yield result

    def cancel(self, *, now: bool) -> None:
        """See `Executor`."""
        self._stop_soon.set()
        if now:
            self._stop_now.set()

    def _work(self, number: int) -> None:
        try:
            block = self._blocks.get()
            if block is not None:
                with self._open_slot(number) as slot:
                    while block is not None:
                        self._run_block(block, self._place(slot))
                        block = self._blocks.get()
        except BaseException as error:  # noqa: BLE001  # raised again by results(), in the caller's thread
            self._results.put(error)
        finally:
            self._results.put(None)

    def _run_block(self, block: Sequence[OpenRun], place: Place) -> None:
        for run in block:
            if self._stop_soon.is_set():
                return
            self._settle(run, place)

    def _settle(self, run: OpenRun, place: Place) -> None:
        for tried in range(self._retries + 1):
            attempt = run.attempt + tried
            record, final = self._attempt(run, attempt, place, last=tried == self._retries)
            if self._enough(record):
                self.cancel(now=False)
            self._results.put(Finished(run.planned, record, final))
            if final or self._stop_soon.wait(_BACKOFF * (tried + 1)):
                return

    def _attempt(self, run: OpenRun, attempt: int, place: Place, *, last: bool) -> tuple[RunRecord, bool]:
        planned = run.planned
        label = f"{planned.question} {planned.arm} {planned.agent} #{planned.rep}"
        self._listen(RunStarted(planned.run_id, label, attempt))
        with disk_trouble(self._staging.parent):
            require_room(self._staging.parent)
            folder = begin(self._staging, planned, attempt).folder
            try:
                record = execute(run.job, attempt, place, folder)
            except UnavailableError:
                # One whose folder is gone is told as that, not as the trouble of whoever wrote into it.
                folder.stat()
                raise
            lost = record.outcome is Outcome.INFRA
            # A run is not lost to an engine that went away: it is open for the next start.
            gone = await_engine(place.client, self._stop_soon) if lost else None
            final = record.outcome not in _UNSETTLED or (last and lost and gone is None)
            if final:
                self._publisher.final(planned, record, folder)
            else:
                self._publisher.earlier(planned, record, folder)
            shutil.rmtree(folder)
        if gone is not None and not self._stop_soon.is_set():
            raise gone
        return record, final
