"""The trial's budget, checked between runs: nothing new begins once it is spent."""

from tiltyard_specs import Budget
from tiltyard_specs.record import RunRecord


class Spending:
    """Adds up what a trial has spent, attempts that settled nothing included."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget
        self.usd = 0.0
        """USD at known prices."""
        self.tokens = 0
        self.unpriced = 0
        """Attempts whose metered cost is unknown."""

    def add(self, record: RunRecord) -> None:
        """Count one attempt."""
        spend = record.metered
        if spend is None:
            return
        if spend.usage is not None and spend.usage.total is not None:
            self.tokens += spend.usage.total
        if spend.cost_usd is None:
            self.unpriced += 1
        else:
            self.usd += spend.cost_usd

    def exhausted(self) -> str | None:
        """What is spent, in words, or None while there is something left."""
        budget = self._budget
        if budget is None:
            return None
        if budget.usd is not None and self.usd >= budget.usd:
            return f"${self.usd:.2f} of the budget of ${budget.usd:g}"
        if budget.tokens is not None and self.tokens >= budget.tokens:
            return f"{self.tokens} tokens of the budget of {budget.tokens}"
        return None
