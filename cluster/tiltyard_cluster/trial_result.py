"""What a start of a trial came to, and what one would do."""

from collections import Counter
from dataclasses import dataclass, field

from tiltyard_cluster.addresses import Address
from tiltyard_cluster.budget import Spent
from tiltyard_cluster.health import alarms, unhealthy_because
from tiltyard_cluster.plan import Plan
from tiltyard_cluster.resolve import Progress
from tiltyard_specs import ExitCode, Outcome, RunRecord


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What there is after a start of a trial."""

    out: Address
    """Where the results lie."""
    plan: Plan
    records: tuple[RunRecord, ...]
    """The settled runs, in the plan's order, those of earlier starts included."""
    stopped: str | None = None
    """Why runs are left, where some are."""
    interrupted: bool = False
    """Whether the user stopped it."""
    over_budget: bool = False
    """Whether it stopped because its budget is spent: only a larger one lets it go on."""
    spent: Spent = field(default_factory=Spent)
    """What all starts together have spent."""
    scripted: bool = False
    """Whether a script answered model calls, so that nothing was paid."""

    @property
    def complete(self) -> bool:
        """Whether every run of the plan is settled."""
        return len(self.records) == len(self.plan.runs)

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How many runs ended in each way."""
        return Counter(record.outcome for record in self.records)

    @property
    def unhealthy(self) -> bool:
        """Whether a setup failed, a treatment was not delivered, or too many runs were lost."""
        return bool(self.unhealthy_because)

    @property
    def unhealthy_because(self) -> tuple[str, ...]:
        """One sentence for each reason."""
        return unhealthy_because(self.records)

    @property
    def alarms(self) -> tuple[str, ...]:
        """What looks like a broken command, one sentence each; the trial may be healthy all the same."""
        return alarms(self.records)

    @property
    def exit_code(self) -> ExitCode:
        """Of `tiltyard run`: wrong answers are results; runs left for want of budget are not."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.OK if self.complete and not self.unhealthy else ExitCode.UNHEALTHY


@dataclass(frozen=True, slots=True)
class Preview:
    """What a start would do."""

    plan: Plan
    progress: Progress
    superseded: str | None = None
    """What would be set aside because the spec has changed, in words."""
