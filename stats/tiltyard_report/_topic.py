"""What the sentences of a report are about."""

from dataclasses import dataclass

from tiltyard_report._receipt import Facts
from tiltyard_report._sample import Sample
from tiltyard_report.audit_model import AuditRow
from tiltyard_report.model import AgentReport


@dataclass(frozen=True, slots=True)
class Topic:
    """The analysed parts, before they are put into words."""

    agents: tuple[AgentReport, ...]
    baseline: str | None
    questions: tuple[str, ...]
    facts: Facts
    partial: bool
    healthy: bool
    runs: Sample
    """Of the agents that compete."""
    audit: tuple[AuditRow, ...]
