"""The part of a report on the questions: what the oracle and nop show of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AuditCount:
    """How often the oracle or nop passed a question."""

    passed: int
    n: int
    """Runs that count."""
    lost: int
    """Runs that do not."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """Whether a question is sound: its reference solution passes, and doing nothing does not."""

    question: str
    oracle: AuditCount | None
    """None when the oracle was not asked."""
    nop: AuditCount | None
    findings: tuple[str, ...]
    """What is wrong with the question, or not known."""
