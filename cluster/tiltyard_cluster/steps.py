"""The words between a scheduler and its driver: a run to do, an attempt to begin, what it has come to."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Task:
    """A run, as far as a scheduler needs to know it."""

    key: str
    """Run id."""
    attempt: int
    """Ordinal of its next attempt."""
    seconds: float
    """The longest that an attempt may take: after that it is taken for lost."""


@dataclass(frozen=True, slots=True)
class Start:
    """An attempt to begin now."""

    number: int
    """Names this attempt in later calls."""
    node: str
    slot: int
    key: str
    attempt: int
    last: bool
    """Whether the run is settled even if this attempt fails."""


class End(Enum):
    """What an attempt has come to."""

    SETTLED = "settled"
    """The run has its record."""
    FAILED = "failed"
    """Infrastructure failed; the run is tried again, unless this was its last attempt."""
    CANCELLED = "cancelled"
    """The user or the budget ended it; the run stays open."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A run that gets no further attempt because all of them were lost: nobody else will record that."""

    key: str
    attempt: int
    """Ordinal of the last attempt."""
