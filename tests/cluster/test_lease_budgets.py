"""Several gateways' budgets and one ledger: whatever calls and messages do, the bill fits the budget."""

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tiltyard_cluster.ledger import Ledger, NodeReport, Share
from tiltyard_gateway.amounts import Amount, Cap
from tiltyard_gateway.budget import Account, Budget, OverBudgetError, Reservation
from tiltyard_gateway.config import LeaseOrder, LeaseState
from tiltyard_gateway.leased import obey

pytestmark = pytest.mark.slow  # hundreds of steps

CAP = 1000
NODES = 3
worst = st.sampled_from((10, 100, 333, 600, 999))


@dataclass
class Node:
    """A gateway's budget, and the last words between it and the ledger."""

    name: str
    budget: Budget
    account: Account
    calls: list[tuple[int, "asyncio.Task[Reservation]"]] = field(default_factory=list)
    state: LeaseState = field(default_factory=LeaseState)
    share: Share | None = None
    gave_back: bool = False
    lost: bool = False

    def flying(self) -> list[tuple[int, "asyncio.Task[Reservation]"]]:
        return [
            (size, task)
            for size, task in self.calls
            if task.done() and not task.cancelled() and task.exception() is None
        ]

    def waiting(self) -> list["asyncio.Task[Reservation]"]:
        return [task for _, task in self.calls if not task.done()]


class LeaseMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.ledger = Ledger(CAP, 0)
        self.nodes: list[Node] = []
        self.bill = 0
        for number in range(NODES):
            self.join(number)

    def join(self, number: int) -> None:
        node = Node(
            f"n{number}",
            Budget(Cap(tokens=0), Amount(), max_wait=1000, leased=True),
            Account("limit", Cap()),
        )
        self.ledger.join(node.name)
        self.nodes.append(node)

    def teardown(self) -> None:
        """Once all calls have ended and everybody has been heard, none waits for what is there."""
        for _ in range(30):
            for node in self.nodes:
                while flying := node.flying():
                    self.end(node, flying[0], 0)
                if not node.lost:
                    self.say(node)
                    self.hear(node)
        waiting = [task for node in self.nodes if not node.lost for task in node.waiting()]
        for node in self.nodes:
            for _, task in node.calls:
                task.cancel()
        self.turn()
        self.loop.close()
        assert not waiting

    def turn(self) -> None:
        for _ in range(4):
            self.loop.run_until_complete(asyncio.sleep(0))

    def end(self, node: Node, call: tuple[int, "asyncio.Task[Reservation]"], charge: int) -> None:
        node.calls.remove(call)
        self.bill += charge
        node.budget.settle(call[1].result(), Amount(tokens=charge))
        self.turn()

    @rule(number=st.integers(0, 5), size=worst)
    def call(self, number: int, size: int) -> None:
        """An agent calls; a node that the ledger holds for lost may well go on."""
        node = self.nodes[number % len(self.nodes)]
        task = self.loop.create_task(node.budget.reserve(node.account, Amount(tokens=size)))
        node.calls.append((size, task))
        self.turn()

    @precondition(lambda self: any(node.flying() for node in self.nodes))
    @rule(data=st.data(), share=st.floats(0.0, 1.0))
    def answer(self, data: st.DataObject, share: float) -> None:
        node = data.draw(st.sampled_from([node for node in self.nodes if node.flying()]))
        call = data.draw(st.sampled_from(node.flying()))
        self.end(node, call, int(call[0] * share))

    @rule(number=st.integers(0, 5))
    def say(self, number: "int | Node") -> None:
        """A node reports; what the ledger answers is under way."""
        node = number if isinstance(number, Node) else self.nodes[number % len(self.nodes)]
        if node.share is not None:
            return
        node.share = self.ledger.sync(
            NodeReport(
                node.name,
                spent=node.state.spent,
                wants=node.state.wants,
                keeps=node.state.granted if node.gave_back else None,
            )
        )
        node.gave_back = False

    @rule(number=st.integers(0, 5))
    def hear(self, number: "int | Node") -> None:
        """A node hears what the ledger has answered."""
        node = number if isinstance(number, Node) else self.nodes[number % len(self.nodes)]
        if node.share is None:
            return
        share, node.share = node.share, None
        if share.lost:
            return
        node.state = obey(
            node.budget,
            LeaseOrder(granted=share.granted, refused=share.refused, give_back=share.give_back),
        )
        node.gave_back = share.give_back
        self.turn()

    @precondition(lambda self: sum(not node.lost for node in self.nodes) > 1 and len(self.nodes) < 6)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        """A node is taken for lost, its lease out; another comes."""
        node = data.draw(st.sampled_from([node for node in self.nodes if not node.lost]))
        self.ledger.lost(node.name)
        node.lost = True
        self.join(len(self.nodes))

    @invariant()
    def what_is_billed_and_may_be_billed_fits(self) -> None:
        flying = sum(size for node in self.nodes for size, _ in node.flying())
        assert self.bill + flying <= CAP

    @invariant()
    def no_call_fails_for_anything_else(self) -> None:
        for node in self.nodes:
            for _, task in node.calls:
                if task.done() and not task.cancelled():
                    assert isinstance(task.exception(), OverBudgetError | None)


LeaseMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLeaseBudgets = LeaseMachine.TestCase


def test_a_lone_node_may_spend_all() -> None:
    """Call by call it gets what it needs, to the last unit; then it is refused."""
    ledger = Ledger(CAP, 100)
    ledger.join("n")
    granted = 0
    for spent in (0, 300, 600):
        share = ledger.sync(NodeReport("n", spent=spent, wants=spent + 300 - granted, keeps=None))
        granted = share.granted
        assert granted >= spent + 300
        assert not share.refused

    assert ledger.sync(NodeReport("n", spent=900, wants=1, keeps=None)).refused
