"""What a trial tells about itself while it runs; the command line turns it into progress."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tiltyard_cluster.budget import Spent
from tiltyard_specs.record import RunRecord


@dataclass(frozen=True, slots=True)
class Note:
    """A line for the user: a step of the preparation, or a warning."""

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """The trial is laid out."""

    total: int
    done: tuple[RunRecord, ...]
    """Records that an earlier start left."""
    spent: Spent = field(default_factory=Spent)
    """What earlier starts have spent, on attempts that settled nothing as well."""
    scripted: bool = False
    """Whether a script answers model calls, so that nothing is paid."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """An attempt has begun."""

    run_id: str
    label: str
    attempt: int


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """An attempt has ended; `final` says whether it settled its run."""

    record: RunRecord
    final: bool
    told: bool = False
    """Whether a note tells of it, together with others."""


Event = Note | Planned | RunStarted | AttemptEnded
Listener = Callable[[Event], None]
