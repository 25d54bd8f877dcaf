"""A state machine against the budget: whatever calls, providers and agents do, the trial stays within it.

The fake provider keeps a bill of its own, which the gateway's sums are compared with.
"""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tiltyard_gateway.amounts import Amount, Cap
from tiltyard_gateway.budget import Account, Budget, OverBudgetError, Reservation

pytestmark = pytest.mark.slow  # hundreds of steps

CAP = Cap.of(usd=1.0, tokens=10_000)
RUN_CAP = Cap.of(usd=0.4, tokens=5_000, turns=4)
amounts = st.builds(
    lambda usd, tokens: Amount.of(usd, tokens, 1),
    st.sampled_from((0.01, 0.1, 0.34, 0.6)),
    st.sampled_from((1, 900, 4_000, 6_000)),
)
shares = st.floats(0.0, 1.0)


@dataclass
class Call:
    """A call that an agent wants to make."""

    run: int
    worst: Amount
    task: "asyncio.Task[Reservation]"


class BudgetMachine(RuleBasedStateMachine):
    """Runs make calls; the provider answers, cuts or keeps silent; agents hang up; leases change the cap."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.budget = Budget(CAP, Amount(), max_wait=1000)
        self.accounts = [Account("limit", RUN_CAP) for _ in range(3)]
        self.calls: list[Call] = []
        self.bill = Amount()
        self.largest_cap = CAP

    def teardown(self) -> None:
        for call in self.calls:
            call.task.cancel()
        self.turn()
        self.loop.close()

    def turn(self) -> None:
        """Let everything that can happen now happen."""
        for _ in range(4):
            self.loop.run_until_complete(asyncio.sleep(0))

    def in_flight(self) -> list[Call]:
        return [call for call in self.calls if call.task.done() and not call.task.cancelled()]

    def granted(self) -> list[Call]:
        return [call for call in self.in_flight() if call.task.exception() is None]

    @rule(run=st.integers(0, 2), worst=amounts, hurried=st.booleans())
    def call(self, run: int, worst: Amount, *, hurried: bool) -> None:
        """Several may come before the loop turns."""
        task = self.loop.create_task(self.budget.reserve(self.accounts[run], worst))
        self.calls.append(Call(run, worst, task))
        if not hurried:
            self.turn()

    @precondition(lambda self: self.in_flight())
    @rule(data=st.data(), share=shares, reported=st.booleans(), others_leave=st.booleans())
    def answer(self, data: st.DataObject, share: float, *, reported: bool, others_leave: bool) -> None:
        """The provider bills a part of the worst case; without a report the reserve is charged.

        Others may leave in the very moment in which that makes room for them.
        """
        call = data.draw(st.sampled_from(self.in_flight()))
        self.calls.remove(call)
        if isinstance(call.task.exception(), OverBudgetError):
            return
        real = Amount(int(call.worst.pico * share), int(call.worst.tokens * share), 1)
        self.bill += real
        self.budget.settle(call.task.result(), real if reported else call.worst)
        for waiting in [other for other in self.calls if others_leave and not other.task.done()]:
            waiting.task.cancel()
            self.calls.remove(waiting)
        if others_leave:
            self.turn()
            assert self.budget.trial.reserved.turns == len(self.granted())

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), at_once=st.booleans())
    def hang_up(self, data: st.DataObject, *, at_once: bool) -> None:
        """An agent leaves while its call waits, perhaps in the moment in which it is served."""
        call = data.draw(st.sampled_from(self.calls))
        if call.task.done():
            return
        if not at_once:
            self.loop.call_soon(call.task.cancel)
        else:
            call.task.cancel()
        self.turn()
        if call.task.cancelled():
            self.calls.remove(call)

    @rule()
    def wait(self) -> None:
        """Time passes."""
        self.turn()

    @rule(usd=st.floats(0.2, 2.0))
    def lease(self, usd: float) -> None:
        """A lease grows or shrinks; money that is spent stays spent."""
        cap = Cap.of(usd=usd, tokens=10_000)
        self.budget.extend(cap)
        if cap.pico > self.largest_cap.pico:
            self.largest_cap = cap

    @invariant()
    def nothing_passes_the_budget(self) -> None:
        trial = self.budget.trial
        assert self.largest_cap.passed_by(trial.spent + trial.reserved) is None
        assert self.largest_cap.passed_by(self.bill) is None
        assert self.bill.pico <= trial.spent.pico
        assert self.bill.tokens <= trial.spent.tokens
        for account in self.accounts:
            assert RUN_CAP.passed_by(account.spent + account.reserved) is None

    @invariant()
    def the_trial_is_the_sum_of_its_runs(self) -> None:
        spent, reserved = Amount(), Amount()
        for account in self.accounts:
            spent += account.spent
            reserved += account.reserved
        assert (spent, reserved) == (self.budget.trial.spent, self.budget.trial.reserved)
        assert reserved.pico >= 0
        assert reserved.turns >= 0

    @invariant()
    def nobody_waits_for_nothing(self) -> None:
        """The first in the queue that waits has no room, in its own account or the trial's."""
        waiting = [waiter for waiter in self.budget._waiters if not waiter.granted.done()]
        if waiting:
            first = waiting[0]
            assert first.account.lacks(first.amount) or self.budget.trial.lacks(first.amount)


TestBudget = BudgetMachine.TestCase
TestBudget.settings = settings(max_examples=100, stateful_step_count=40, deadline=None, print_blob=True)
