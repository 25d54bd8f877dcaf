"""What a trial spends, and its budget, checked between runs: nothing new begins once it is spent."""

from dataclasses import dataclass

from tiltyard_specs import Budget
from tiltyard_specs.record import RunRecord


@dataclass(frozen=True, slots=True)
class Spent:
    """A sum over attempts."""

    usd: float = 0.0
    """USD at known prices."""
    tokens: int = 0
    unpriced: int = 0
    """Attempts whose metered cost is unknown."""

    def plus(self, record: RunRecord) -> "Spent":
        """With one more attempt, whatever it came to."""
        spend = record.metered
        if spend is None:
            return self
        tokens = (spend.usage.total if spend.usage is not None else None) or 0
        return Spent(
            usd=self.usd + (spend.cost_usd or 0.0),
            tokens=self.tokens + tokens,
            unpriced=self.unpriced + (spend.cost_usd is None),
        )

    def words(self, *, scripted: bool = False) -> str:
        """For people. Scripted answers cost nothing, so their price is what it would be."""
        tokens = f"{self.tokens:,} tokens"
        if not self.usd:
            return tokens
        usd = f"would be ${self.usd:.2f}" if scripted else f"${self.usd:.2f}"
        return f"{tokens} ({usd} of it priced)" if self.unpriced else f"{tokens}, {usd}"


class Spending:
    """Adds up what a trial has spent, attempts that settled nothing included."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget
        self.total = Spent()

    def add(self, record: RunRecord) -> None:
        """Count one attempt."""
        self.total = self.total.plus(record)

    def exhausted(self) -> str | None:
        """What is spent, in words, or None while there is something left."""
        budget, total = self._budget, self.total
        if budget is None:
            return None
        if budget.usd is not None and total.usd >= budget.usd:
            return f"${total.usd:.2f} of the budget of ${budget.usd:g}"
        if budget.tokens is not None and total.tokens >= budget.tokens:
            return f"{total.tokens} tokens of the budget of {budget.tokens}"
        return None
