"""The seam between a trial and what runs it: one machine's threads here, a cluster later."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from tiltyard_cluster.plan import PlannedRun
from tiltyard_runner.job import Job
from tiltyard_specs.record import RunRecord


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that is still to be done."""

    planned: PlannedRun
    job: Job
    attempt: int
    """Ordinal of the next attempt."""


@dataclass(frozen=True, slots=True)
class Finished:
    """One attempt has ended and lies in the store."""

    planned: PlannedRun
    record: RunRecord
    final: bool
    """Whether the run is settled; the others were infra and are tried again, or were cancelled."""


class Executor(Protocol):
    """Runs blocks of runs. A context manager: nothing of it is left after `__exit__`."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def submit(self, block: Sequence[OpenRun]) -> None:
        """Queue a block: its runs go back to back on one node."""
        ...

    def results(self) -> Iterator[Finished]:
        """Every attempt as it ends, until all submitted blocks are through or cancelled."""
        ...

    def cancel(self, *, now: bool) -> None:
        """Begin no further run; with `now`, end those under way as well. A signal handler may call this."""
        ...
