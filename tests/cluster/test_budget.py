"""The trial's budget: what counts, and when nothing new begins."""

from collections.abc import Callable

import pytest

from tiltyard_cluster import PlannedRun
from tiltyard_cluster.budget import Spending, Spent
from tiltyard_runner.verdict import BUDGET_SPENT, UNPRICED
from tiltyard_specs import Budget, Outcome, RunRecord

MakeRecord = Callable[..., RunRecord]


def test_nothing_is_exhausted_without_a_budget(planned: PlannedRun, record: MakeRecord) -> None:
    spending = Spending(None)
    spending.add(record(planned, usd=1e9))

    assert spending.exhausted() is None


def test_dollars(planned: PlannedRun, record: MakeRecord) -> None:
    """Every attempt counts, whatever it came to."""
    spending = Spending(Budget(usd=1.5))
    spending.add(record(planned, usd=1.0, outcome=Outcome.INFRA))

    assert spending.exhausted() is None
    spending.add(record(planned, usd=0.5))
    assert spending.exhausted() == "the budget is spent: $1.50 of the budget of $1.50"


def test_tokens(planned: PlannedRun, record: MakeRecord) -> None:
    spending = Spending(Budget(tokens=150))
    spending.add(record(planned, tokens=100, outcome=Outcome.CANCELLED))

    assert spending.exhausted() is None
    spending.add(record(planned, tokens=51))
    assert spending.exhausted() == "the budget is spent: 151 tokens of the budget of 150"


def test_a_call_that_does_not_fit_ends_it_with_its_amounts(planned: PlannedRun, record: MakeRecord) -> None:
    spending = Spending(Budget(usd=1))
    reason = f"{BUDGET_SPENT}: it may take up to $0.97, and $0.96 of the trial's budget of $1.00 is left"
    spending.end(record(planned, usd=0.04, outcome=Outcome.CANCELLED).model_copy(update={"reason": reason}))

    assert spending.exhausted() == reason


def test_a_model_without_a_price_is_named(planned: PlannedRun, record: MakeRecord) -> None:
    spending = Spending(Budget(usd=1))
    reason = f"{UNPRICED}: gpt-zzz has no row in prices"
    spending.end(record(planned, usd=None, outcome=Outcome.CANCELLED).model_copy(update={"reason": reason}))

    assert (spending.exhausted(), spending.unpriced) == (None, f"{reason}; add one")


def test_an_unknown_cost_is_counted_as_unknown(planned: PlannedRun, record: MakeRecord) -> None:
    spending = Spending(Budget(usd=1))
    spending.add(record(planned, usd=None))

    assert (spending.total.usd, spending.total.unpriced) == (0.0, 1)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_an_unmetered_attempt_spends_nothing(
    planned: PlannedRun, record: MakeRecord, outcome: Outcome
) -> None:
    spending = Spending(Budget(tokens=1))
    spending.add(record(planned, outcome=outcome).model_copy(update={"metered": None}))

    assert spending.exhausted() is None


def test_small_sums_are_not_shown_as_nothing() -> None:
    assert Spent(usd=0.0041, tokens=880).words() == "880 tokens, $0.0041"
    assert Spent(usd=0.00001, tokens=1, unpriced=1).words(scripted=True) == (
        "1 tokens (would be <$0.0001 of it priced)"
    )
