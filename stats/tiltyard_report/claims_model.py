"""The part of a report on what agents say of their own checks. Self-reported."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """What one agent said of its checks in one arm, held against the checks that decided."""

    agent: str
    arm: str
    asked: int
    """Runs whose prompt asked for a claim."""
    agreed: int
    false_pass: int
    """It claimed passed, and the check failed."""
    false_fail: int
    """It claimed failed or not-run, and the check passed."""
    absent: int
    malformed: int
    """A claim that cannot be read is no claim."""
    unchecked: int
    """It claimed something, and the run ended before a check."""


@dataclass(frozen=True, slots=True)
class ClaimNote:
    """A note that several runs make. Self-reported: nobody checked it."""

    text: str
    runs: int


@dataclass(frozen=True, slots=True)
class Claims:
    """What agents say of their own checks. Self-reported."""

    rows: tuple[ClaimRow, ...]
    missing: tuple[ClaimNote, ...]
    """What they say they lacked, the most frequent first."""
    could_not_verify: tuple[ClaimNote, ...]
