"""The two smallest parts of a report: a share of runs, and a mean over runs."""

from dataclasses import dataclass

from tiltyard_stats import Interval


@dataclass(frozen=True, slots=True)
class Rate:
    """So many of so many runs."""

    successes: int
    n: int
    interval: Interval | None
    """None when there are no runs."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A mean over the counted runs of which the value is known."""

    interval: Interval | None
    """None when no run has a known value. Its bounds are unknown too where that of some run is."""
    known: int
    unknown: int
