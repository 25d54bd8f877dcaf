"""Runs blocks on a Ray cluster: the scheduler's words carried out, and what is heard of it told back.

One call is one attempt, and Ray tries nothing again. A worker that is lost takes its attempts with it as far
as the schedule goes; should one of them have ended all the same, its record is what it is, and counts.
"""

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self

from tiltyard_cluster.books import Books, LedgerLostError
from tiltyard_cluster.crew import AGAIN, Crew, Gone, Hired, Refused, words
from tiltyard_cluster.events import Listener, Note, RunStarted
from tiltyard_cluster.executor import Finished, OpenRun
from tiltyard_cluster.ray_worker import AttemptEnd, Ready, attempt_name
from tiltyard_cluster.scheduling import Scheduler
from tiltyard_cluster.settling import Settling
from tiltyard_cluster.shared_publisher import DriverPublisher
from tiltyard_cluster.steps import End, GivenUp, Start
from tiltyard_runner.agent_process import MOST_WAITED
from tiltyard_specs.errors import DataError, UnavailableError
from tiltyard_specs.record import RunRecord, parse_record

SLACK = 900.0
"""Seconds that an attempt may take beyond its timeouts."""
_LONGEST_WAIT = 0.5
_BREATH = 5.0
"""Seconds until a worker is hired again on a node that lost one: the node itself may be gone."""
HEAD_SILENCE = 40.0
"""Seconds without an answer from the head, after which it is taken for lost."""
_NOBODY = 120.0
"""Seconds without any node, after which the trial ends."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """A call has come back."""

    start: Start
    done: "Future[AttemptEnd]"


class RayExecutor:
    """See `Executor`.

    Args:
        crew: Makes the workers; given the queue that this executor reads.
        books: What nodes spend.
        publisher: The results.
        retries: Further attempts after an infra outcome.
        enough: Asked with each attempt's record before anything further begins; true ends the trial there.
        listen: Hears of each start, and of nodes.
        slack: Seconds that an attempt may take beyond its timeouts.
    """

    def __init__(
        self,
        crew: Callable[["queue.SimpleQueue[Any]"], Crew],
        *,
        books: Books,
        publisher: DriverPublisher,
        retries: int,
        enough: Callable[[RunRecord], bool],
        listen: Listener,
        slack: float = SLACK,
    ) -> None:
        self._post: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._crew = crew(self._post)
        self._books = books
        self._scheduler = Scheduler(retries=retries)
        self._settling = Settling(publisher, self._scheduler, self._count)
        self._enough = enough
        self._listen = listen
        self._slack = slack
        self._up: set[str] = set()
        self._ever_up = False
        self._refusals: dict[str, str] = {}
        self._alone_since = time.monotonic()
        self._waited: dict[int, float] = {}
        """Seconds by which attempts were put off, because their calls were held back for so long."""
        self._head_lost: str | None = None
        self._stop_soon = self._stop_now = self._stopping = False

    def __enter__(self) -> Self:
        self._crew.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._crew.stop()
        self._crew.close()
        if self._head_lost is not None:
            # Workers that could have published what they did.
            self._settling.abandon(self._head_lost)

    def submit(self, block: Sequence[OpenRun]) -> None:
        """See `Executor`."""
        self._scheduler.submit(self._settling.add(block, self._slack))

    def results(self) -> Iterator[Finished]:
        """See `Executor`.

        Raises:
            DataError: A task is wrong.
            UnavailableError: No node is left that can be used, or the cluster's head is gone.
        """
        try:
            yield from self._results()
        except LedgerLostError as error:
            raise self._without_head() from error

    def _results(self) -> Iterator[Finished]:
        self._alone_since = time.monotonic()
        while True:
            self._obey()
            yield from self._begin()
            if self._scheduler.idle:
                return
            yield from self._hear(self._next_news())
            if self._crew.silence > HEAD_SILENCE:
                raise self._without_head()
            for start in self._scheduler.overdue(time.monotonic()):
                if not self._put_off(start):
                    yield from self._gone(start.node, "an attempt did not end in its time", rest=AGAIN)

    def _put_off(self, start: Start) -> bool:
        """Whether an attempt has some time yet: while its calls were held back, it was not its time."""
        before = self._waited.get(start.number, 0.0)
        waited = min(self._crew.waited(start.node, start.slot), MOST_WAITED)
        if waited <= before:
            return False
        self._waited[start.number] = waited
        self._scheduler.put_off(start.number, time.monotonic() + waited - before)
        return True

    def _without_head(self) -> UnavailableError:
        self._head_lost = self._crew.head_lost()
        return UnavailableError(
            f"{self._head_lost}; finished runs are kept: with the cluster up again (`--cluster local` starts "
            "one itself) the same command goes on"
        )

    def cancel(self, *, now: bool) -> None:
        """See `Executor`."""
        self._stop_soon = True
        self._stop_now = self._stop_now or now
        self._post.put(None)

    def _obey(self) -> None:
        if self._stop_soon:
            self._scheduler.stop()
        if self._stop_now and not self._stopping:
            self._stopping = True
            self._crew.stop()

    def _begin(self) -> Iterator[Finished]:
        for step in self._scheduler.next(time.monotonic()):
            if isinstance(step, GivenUp):
                yield from self._settling.give_up(step)
            else:
                self._start(step)

    def _start(self, start: Start) -> None:
        run = self._settling.begin(start)
        planned = run.planned
        label = f"{planned.question} {planned.arm} {planned.agent} #{planned.rep}"
        self._listen(RunStarted(planned.run_id, label, start.attempt))
        call = self._crew.attempt(start.node, start.slot, run, start.attempt, last=start.last)
        call.add_done_callback(partial(self._came_back, start))

    def _came_back(self, start: Start, done: "Future[AttemptEnd]") -> None:
        """In a thread of Ray's."""
        self._post.put(_Ended(start, done))

    def _next_news(self) -> object:
        now = time.monotonic()
        wakes = self._scheduler.wakes_at(now)
        wait = _LONGEST_WAIT if wakes is None else min(_LONGEST_WAIT, max(0.0, wakes - now))
        try:
            return self._post.get(timeout=wait)
        except queue.Empty:
            return None

    def _hear(self, news: object) -> Iterator[Finished]:
        match news:
            case _Ended(start, done):
                yield from self._ended(start, done)
            case tuple():
                self._crew.wanted = self._scheduler.open_blocks
                self._crew.see(news)
                self._require_somebody()
            case Hired(name, ready):
                yield from self._hired(name, ready)
            case Gone(name, why):
                yield from self._gone(name, why)
            case Refused(name, why):
                self._refused(name, why)

    def _hired(self, name: str, ready: Ready) -> Iterator[Finished]:
        if not self._crew.hired(name, ready.slots):
            return
        self._refusals.clear()
        for text in ready.recovered:
            record = parse_record(text.encode(), name)
            if not self._settling.counted(record):
                self._books.earlier(record)
                self._count(record)
            self._listen(Note(f"node {name} has saved an attempt that a killed worker had left there"))
            yield from self._settling.recovered(record)
        self._up.add(name)
        self._ever_up = True
        self._scheduler.node_up(name, ready.slots)

    def _refused(self, name: str, why: str) -> None:
        if self._crew.dismiss(name, rest=AGAIN):
            self._books.lost(name)
            if why not in self._refusals.values():
                self._listen(Note(f"node {name} cannot be used: {why}", warning=True))
            self._refusals[name] = why

    def _require_somebody(self) -> None:
        """A trial without a node that can be used comes to nothing."""
        now = time.monotonic()
        if not self._crew.empty:
            self._alone_since = now
        elif (self._refusals and not self._ever_up) or now - self._alone_since > _NOBODY:
            reasons = "; ".join(f"{name}: {why}" for name, why in self._refusals.items())
            kept = "; finished runs are kept: start the trial again to go on" if self._ever_up else ""
            raise UnavailableError(f"no node of the cluster can be used: {reasons or 'there is none'}{kept}")

    def _gone(self, name: str, why: str, *, rest: float = _BREATH) -> Iterator[Finished]:
        if not self._crew.dismiss(name, rest=rest):
            return
        loss = self._books.lost(name)
        self._listen(Note(f"node {name} is lost: {why}", warning=True))
        if name not in self._up:
            return
        self._up.remove(name)
        starts = self._scheduler.node_down(name, time.monotonic())
        spends = self._books.spends(loss, {attempt_name(start.key, start.attempt): start for start in starts})
        for start in starts:
            yield from self._settling.lost(start, why, spends.get(attempt_name(start.key, start.attempt)))

    def _ended(self, start: Start, done: "Future[AttemptEnd]") -> Iterator[Finished]:
        error = done.exception()
        if not self._settling.under_way(start):
            # Taken for lost before: what it has published counts.
            yield from self._settling.settle_if_known(start.key)
        elif error is None:
            yield from self._end(start, done.result())
        elif isinstance(error, DataError):
            raise DataError(words(error))
        else:
            yield from self._gone(start.node, words(error))

    def _end(self, start: Start, end: AttemptEnd) -> Iterator[Finished]:
        run, now = self._settling.end(start), time.monotonic()
        if end.ending == "taken":
            # Somebody has used this number before: nothing ran, and the next one may be free.
            self._scheduler.lost(start.number, now)
            return
        record = parse_record((end.record or "").encode(), start.key)
        if end.ending != "known":
            self._count(record)
        self._obey()
        further = self._scheduler.ended(start.number, _END_OF[end.ending], now)
        if further is not None:
            self._start(further)
        if end.ending in {"settled", "known"}:
            yield from self._settling.settle(start.key, record, late=False)
        else:
            yield Finished(run.planned, record, final=False)
        if end.ending == "beaten":
            yield from self._settling.settle_if_known(start.key)
        if end.trouble is not None:
            yield from self._gone(start.node, end.trouble, rest=AGAIN)

    def _count(self, record: RunRecord) -> None:
        if self._enough(record):
            self._stop_soon = True


_END_OF = {
    "settled": End.SETTLED,
    "known": End.SETTLED,
    "beaten": End.SETTLED,
    "failed": End.FAILED,
    "cancelled": End.CANCELLED,
}
