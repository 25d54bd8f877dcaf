"""The driver's word with the ledger: who comes and goes, and what a lost attempt is charged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiltyard_cluster.budget import Spent
from tiltyard_cluster.lease_sync import LedgerCalls
from tiltyard_cluster.ledger import Loss
from tiltyard_gateway.amounts import Amount, Cap
from tiltyard_specs import Budget
from tiltyard_specs.errors import UnavailableError
from tiltyard_specs.record import RunRecord, Spend

_SECONDS = 60.0


def budget_units(budget: Budget | None, spent: Spent) -> tuple[int | None, int]:
    """A budget, and what was spent of it, in whole numbers of its own unit."""
    if budget is None:
        return None, 0
    amount, cap = Amount.of(spent.charged_usd, spent.charged_tokens), Cap.of(budget.usd, budget.tokens)
    return (cap.pico, amount.pico) if cap.pico is not None else (cap.tokens, amount.tokens)


class LedgerLostError(UnavailableError):
    """The ledger does not answer: the node that it is on has gone."""


@dataclass(frozen=True, slots=True)
class Books:
    """Kept by the ledger; written here."""

    ledger: LedgerCalls
    budget: Budget | None

    def join(self, node: str) -> None:
        """A node is about to come."""
        self._ask("join", node)

    def lost(self, node: str) -> Loss:
        """A node is gone."""
        loss: Loss = self._ask("lost", node)
        return loss

    def earlier(self, record: RunRecord) -> None:
        """An attempt of an earlier start has come to light."""
        _, units = budget_units(self.budget, Spent().plus(record))
        if self.budget is not None and units:
            self._ask("spent_before", units)

    def spends(self, loss: Loss, attempts: Mapping[str, object]) -> dict[str, Spend]:
        """What the lost attempts of a node are charged.

        The first of them bears what the node may have spent beyond what it has told: the whole is right.

        Args:
            loss: What the ledger said.
            attempts: The lost attempts, by run id and attempt.
        """
        found = {
            name: _incomplete(Spend.model_validate_json(text))
            for name, text in loss.running.items()
            if name in attempts
        }
        first = next(iter(found), None) or next(iter(attempts), None)
        if first is not None and loss.unaccounted and self.budget is not None:
            found[first] = _with(
                found.get(first, Spend(calls=0, incomplete=1)), loss.unaccounted, self.budget
            )
        return found

    def _ask(self, method: str, *args: object) -> Any:
        try:
            return self.ledger.call(method, *args).result(_SECONDS)
        except Exception as error:  # whatever it is, nobody keeps the budget any more
            raise LedgerLostError(f"the trial's ledger does not answer: {error}") from error


def _incomplete(spend: Spend) -> Spend:
    least = spend.cost_usd if spend.least_usd is None else spend.least_usd
    more = {"cost_usd": None, "least_usd": least or None, "incomplete": (spend.incomplete or 0) + 1}
    return spend.model_copy(update=more)


def _with(spend: Spend, units: int, budget: Budget) -> Spend:
    if budget.usd is not None:
        return spend.model_copy(update={"charged_usd": (spend.charged_usd or 0.0) + Amount(pico=units).usd})
    return spend.model_copy(update={"charged_tokens": (spend.charged_tokens or 0) + units})
