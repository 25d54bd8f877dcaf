"""What becomes of each run on a cluster: told of once, whoever settles it; lost attempts on record."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from tiltyard_cluster.executor import Finished, OpenRun
from tiltyard_cluster.lost_attempts import lost_record
from tiltyard_cluster.ray_worker import attempt_name
from tiltyard_cluster.scheduling import Scheduler
from tiltyard_cluster.shared_publisher import DriverPublisher
from tiltyard_cluster.steps import GivenUp, Start, Task
from tiltyard_cluster.stripped_jobs import stripped
from tiltyard_runner.job import Job
from tiltyard_specs.record import RunRecord, Spend


def _longest(job: Job) -> float:
    """Seconds of an attempt's timeouts: its agent's, and those of grading and setup where it has them."""
    graded = job.task.edits or job.key.verify is not None
    return job.timeout * (1 + graded + bool(job.setup))


class Settling:
    """The runs of a trial, and the attempts at them that are under way.

    Args:
        publisher: The results.
        scheduler: Told of runs that are settled behind its back.
        count: Told of each attempt's record once.
    """

    def __init__(
        self, publisher: DriverPublisher, scheduler: Scheduler, count: Callable[[RunRecord], None]
    ) -> None:
        self._publisher = publisher
        self._scheduler = scheduler
        self._count = count
        self._runs: dict[str, OpenRun] = {}
        self._began: dict[int, tuple[Start, datetime]] = {}
        self._settled: set[str] = set()
        self._lost: set[str] = set()

    def add(self, block: Sequence[OpenRun], slack: float) -> list[Task]:
        """These runs are to be settled. What is kept of them, and sent to nodes, holds no keys.

        Args:
            block: The runs.
            slack: Seconds that an attempt may take beyond its timeouts.

        Returns:
            What the scheduler is to know of them.
        """
        for run in block:
            self._runs[run.planned.run_id] = stripped(run)
        return [Task(run.planned.run_id, run.attempt, _longest(run.job) + slack) for run in block]

    def begin(self, start: Start) -> OpenRun:
        """An attempt begins; returns its run.

        Raises:
            ResultsFolderError: Its files may not fit.
        """
        self._publisher.require_room()
        self._began[start.number] = (start, datetime.now(UTC))
        return self._runs[start.key]

    def under_way(self, start: Start) -> bool:
        """Whether an attempt is waited for: it has begun, and was not taken for lost."""
        return start.number in self._began

    def end(self, start: Start) -> OpenRun:
        """An attempt has ended; returns its run."""
        del self._began[start.number]
        return self._runs[start.key]

    def lost(self, start: Start, why: str, spend: Spend | None) -> Iterator[Finished]:
        """An attempt of which nothing may be heard goes on record; its run may be settled all the same."""
        _, began = self._began.pop(start.number)
        run = self._runs[start.key]
        settled = self._publisher.settled(run.planned)
        if settled is not None:
            yield from self.settle(start.key, settled, late=True)
            return
        record = self._record_lost(run, start, f"node {start.node} was lost: {why}", began, spend)
        if record is not None:
            self._count(record)
            yield Finished(run.planned, record, final=False)

    def abandon(self, why: str) -> None:
        """Whatever is still under way is lost, and this driver with it: it goes on record, and no further."""
        for start, began in list(self._began.values()):
            run = self._runs[start.key]
            if self._publisher.settled(run.planned) is None:
                self._record_lost(run, start, why, began, None)
        self._began.clear()

    def recovered(self, record: RunRecord) -> Iterator[Finished]:
        """A node has saved an attempt that a killed worker had left there; it may have settled its run."""
        if record.run_id in self._runs:
            yield from self.settle_if_known(record.run_id)

    def counted(self, record: RunRecord) -> bool:
        """Whether an attempt was counted before, as a lost one."""
        return attempt_name(record.run_id, record.attempt) in self._lost

    def give_up(self, step: GivenUp) -> Iterator[Finished]:
        """A run gets no further attempt."""
        run = self._runs[step.key]
        reason = f"given up: all of its attempts were lost, {step.attempt} in all"
        record = lost_record(run, step.attempt, "", reason, datetime.now(UTC))
        yield from self.settle(step.key, self._publisher.give_up(run.planned, record), late=False)

    def settle_if_known(self, key: str) -> Iterator[Finished]:
        """A run may have its record meanwhile."""
        settled = self._publisher.settled(self._runs[key].planned)
        if settled is not None:
            yield from self.settle(key, settled, late=True)

    def settle(self, key: str, record: RunRecord, *, late: bool) -> Iterator[Finished]:
        """A run has its record.

        Args:
            key: Run id.
            record: The record.
            late: Whether the scheduler knows nothing of it yet.
        """
        if key in self._settled:
            return
        self._settled.add(key)
        if late:
            self._scheduler.late(key)
        yield Finished(self._runs[key].planned, record, final=True)

    def _record_lost(
        self, run: OpenRun, start: Start, why: str, began: datetime, spend: Spend | None
    ) -> RunRecord | None:
        record = lost_record(run, start.attempt, start.node, why, began, spend)
        self._lost.add(attempt_name(start.key, start.attempt))
        return record if self._publisher.lost(run.planned, record) else None
