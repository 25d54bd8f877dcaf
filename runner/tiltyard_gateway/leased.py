"""A gateway's part of a budget over many: it keeps to its lease, and says how it stands.

Whole numbers in the unit of the budget, so that the ledger's sums and the gateway's are the same.
"""

from tiltyard_gateway.amounts import Amount, Cap
from tiltyard_gateway.budget import Budget
from tiltyard_gateway.config import LeaseOrder, LeaseState


def leased_cap(cap: Cap, granted: int) -> Cap:
    """A cap of this much, in the unit of another."""
    return Cap(pico=granted) if cap.pico is not None else Cap(tokens=granted)


def units(amount: Amount, cap: Cap) -> int:
    """An amount in the unit of a cap."""
    return amount.pico if cap.pico is not None else amount.tokens


def granted_by(cap: Cap) -> int:
    """A cap as a number."""
    return (cap.pico if cap.pico is not None else cap.tokens) or 0


def obey(budget: Budget, order: LeaseOrder) -> LeaseState:
    """Do what the ledger says, and say how the gateway stands then."""
    trial = budget.trial
    if order.granted > granted_by(trial.cap):
        budget.extend(leased_cap(trial.cap, order.granted))
    if order.refused and state(budget).wants >= order.refused:
        budget.refuse()
    if order.give_back:
        used = units(trial.spent + trial.reserved, trial.cap)
        budget.extend(leased_cap(trial.cap, min(granted_by(trial.cap), used)))
    return state(budget)


def state(budget: Budget) -> LeaseState:
    """How the gateway stands."""
    trial, needed = budget.trial, budget.needs()
    granted = granted_by(trial.cap)
    return LeaseState(
        granted=granted,
        spent=units(trial.spent, trial.cap),
        reserved=units(trial.reserved, trial.cap),
        wants=0 if needed is None else max(0, units(needed, trial.cap) - granted),
    )
