"""How a run can end, and what each end counts as in the statistics."""

from enum import StrEnum

MAX_LOST = 0.05
"""The share of its runs that a healthy trial may lose: infra and unmetered ones."""


class Outcome(StrEnum):
    """The end of one attempt."""

    PASSED = "passed"
    FAILED = "failed"
    NO_ANSWER = "no_answer"
    TIMEOUT = "timeout"
    LIMIT = "limit"
    TAMPERED = "tampered"
    INFRA = "infra"
    SETUP_FAILED = "setup_failed"
    UNDELIVERED = "undelivered"
    UNMETERED = "unmetered"
    CANCELLED = "cancelled"

    @property
    def counted(self) -> bool:
        """Whether the run counts as a pass or a failure; the others are excluded and counted apart."""
        return self in _COUNTED

    @property
    def passed(self) -> bool:
        """Whether it counts as a pass."""
        return self is Outcome.PASSED

    @property
    def lost(self) -> bool:
        """Whether such a run is lost to the weather: a healthy trial may lose a few, and only a few.

        One that somebody stopped is not lost, and one whose treatment failed is told of as that.
        """
        return self in {Outcome.INFRA, Outcome.UNMETERED}

    @property
    def unhealthy(self) -> bool:
        """Whether one such run makes the whole trial UNHEALTHY."""
        return self in {Outcome.SETUP_FAILED, Outcome.UNDELIVERED}


_COUNTED = frozenset(
    {Outcome.PASSED, Outcome.FAILED, Outcome.NO_ANSWER, Outcome.TIMEOUT, Outcome.LIMIT, Outcome.TAMPERED}
)
