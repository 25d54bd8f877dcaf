"""What a trial spends, and its budget: the meter keeps it call by call; nothing begins once it is spent."""

from dataclasses import dataclass, replace

from tiltyard_cluster.sharding import from_file, part_of
from tiltyard_cluster.words import usd_text
from tiltyard_runner.verdict import BUDGET_SPENT, UNPRICED
from tiltyard_specs import Budget, Trial
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.receipt import ShardName
from tiltyard_specs.record import RunRecord


@dataclass(frozen=True, slots=True)
class Spent:
    """A sum over attempts."""

    usd: float = 0.0
    """USD at known prices."""
    tokens: int = 0
    unpriced: int = 0
    """Attempts whose metered cost is not fully known."""
    charged_usd: float = 0.0
    """What the budget was charged: the worst case stands in for usage that is unknown."""
    charged_tokens: int = 0

    def plus(self, record: RunRecord) -> "Spent":
        """With one more attempt, whatever it came to."""
        spend = record.metered
        if spend is None:
            return self
        tokens = (spend.usage.total if spend.usage is not None else None) or 0
        usd = spend.cost_usd or spend.least_usd or 0.0
        return Spent(
            usd=self.usd + usd,
            tokens=self.tokens + tokens,
            unpriced=self.unpriced + (spend.cost_usd is None),
            charged_usd=self.charged_usd + (spend.charged_usd or usd),
            charged_tokens=self.charged_tokens + (spend.charged_tokens or tokens),
        )

    def words(self, *, scripted: bool = False) -> str:
        """For people. Scripted answers cost nothing, so their price is what it would be."""
        tokens = f"{self.tokens:,} tokens"
        if not self.usd:
            return tokens
        usd = f"would be {usd_text(self.usd)}" if scripted else usd_text(self.usd)
        return f"{tokens} ({usd} of it priced)" if self.unpriced else f"{tokens}, {usd}"


class Spending:
    """Adds up what a trial has spent, attempts that settled nothing included."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget
        self._refused: str | None = None
        self.unpriced: str | None = None
        """Why the first of the runs was cut short that called a model without a price; None without one."""
        self.total = Spent()

    def add(self, record: RunRecord) -> None:
        """Count one attempt of an earlier start."""
        self.total = self.total.plus(record)

    def end(self, record: RunRecord) -> None:
        """Count an attempt of this start. One that the meter cut short for the budget ends the trial."""
        self.add(record)
        reason = record.reason or ""
        if reason.startswith(BUDGET_SPENT):
            self._refused = self._refused or reason
        if reason.startswith(UNPRICED):
            self.unpriced = self.unpriced or f"{reason}; add one"

    def exhausted(self) -> str | None:
        """That nothing more can be bought, in words, or None while there is something left."""
        budget, total = self._budget, self.total
        if budget is None:
            return None
        if budget.usd is not None:
            over, spent = (
                total.charged_usd >= budget.usd,
                f"{usd_text(total.charged_usd)} of the budget of {usd_text(budget.usd)}",
            )
        else:
            limit = budget.tokens or 0
            over, spent = (
                total.charged_tokens >= limit,
                f"{total.charged_tokens} tokens of the budget of {limit}",
            )
        return f"the budget is spent: {spent}" if over else self._refused


def budget_of_part(trial: Trial, plan: PlanFile | None, shard: ShardName | None) -> Trial:
    """The trial with the part of its budget that a shard may spend: machines that share nothing share none.

    It is the share of runs, so that all shards together stay within the budget.
    """
    budget = trial.spec.budget
    if budget is None or plan is None or shard is None:
        return trial
    share = len(part_of(from_file(plan), shard).runs) / max(1, len(plan.runs.run_id))
    own = Budget.model_construct(
        usd=None if budget.usd is None else budget.usd * share,
        tokens=None if budget.tokens is None else max(1, int(budget.tokens * share)),
    )
    return replace(trial, spec=trial.spec.model_copy(update={"budget": own}))
