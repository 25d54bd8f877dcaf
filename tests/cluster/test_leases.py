"""One budget over many nodes: whatever happens, what is spent fits it."""

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tiltyard_cluster.leases import Answer, Leases


def test_a_node_gets_a_portion_and_never_less_than_it_needs() -> None:
    leases = Leases(1000)
    leases.join("a")
    leases.join("b")

    assert leases.ask("a", 0, 10) == (Answer.GRANTED, 31)
    assert leases.ask("b", 0, 500) == (Answer.GRANTED, 500)
    assert leases.free == 469


def test_what_others_hold_may_come_back() -> None:
    leases = Leases(100)
    leases.join("a")
    leases.join("b")
    leases.ask("a", 0, 80)

    assert leases.ask("b", 0, 50) == (Answer.WAIT, 0)
    assert leases.waiting() == {"b": 50}
    assert leases.asked_back() == ["a"]
    leases.report("a", 10)
    leases.give_back("a", 10)
    assert leases.ask("b", 0, 50) == (Answer.GRANTED, 50)
    assert leases.waiting() == {}


def test_nodes_that_all_wait_do_not_wait_for_each_other() -> None:
    """Each holds a part of what all of them want: all but the first give theirs back."""
    leases = Leases(100)
    for name in ("a", "b", "c"):
        leases.join(name)
        leases.ask(name, 0, 30)
        leases.report(name, 5)
        leases.give_back(name, 30)
    assert [leases.ask(name, 5, 20)[0] for name in ("c", "a", "b")] == [Answer.WAIT] * 3

    assert list(leases.waiting()) == ["c", "a", "b"]
    assert leases.asked_back() == ["a", "b"]
    leases.give_back("a", 5)
    assert leases.ask("c", 5, 20) == (Answer.GRANTED, 50)
    assert leases.asked_back() == ["b", "c"]


def test_what_can_never_fit_is_refused_at_once() -> None:
    leases = Leases(100, spent=30)
    leases.join("a")
    leases.join("b")
    leases.ask("a", 0, 40)
    leases.report("a", 40)

    assert leases.ask("b", 0, 31) == (Answer.REFUSED, 0)
    assert leases.ask("b", 0, 30) == (Answer.GRANTED, 30)


def test_a_lost_node_takes_its_whole_lease_with_it() -> None:
    """A call may have been under way of which no journal tells."""
    leases = Leases(100)
    leases.join("a")
    leases.join("b")
    leases.ask("a", 0, 80)
    leases.report("a", 5)

    assert leases.lost("a") == 80
    assert leases.spent == 80
    assert leases.ask("b", 0, 21) == (Answer.REFUSED, 0)
    assert leases.ask("b", 0, 20) == (Answer.GRANTED, 20)


def test_a_lost_node_gets_nothing_more() -> None:
    leases = Leases(100)
    leases.join("a")
    leases.lost("a")
    with pytest.raises(KeyError):
        leases.ask("a", 0, 1)


@pytest.mark.parametrize("kept", [4, 31])
def test_a_node_cannot_keep_less_than_it_spent_or_more_than_it_had(kept: int) -> None:
    leases = Leases(100)
    leases.join("a")
    leases.join("b")
    leases.ask("a", 0, 30)
    leases.report("a", 5)
    with pytest.raises(ValueError, match=f"node a keeps {kept} of a lease of 30"):
        leases.give_back("a", kept)


class FakeNode:
    """A meter that spends from its lease: it reserves a call's worst case and settles for less."""

    def __init__(self) -> None:
        self.lease = 0
        self.spent = 0
        self.reserved: list[int] = []

    @property
    def room(self) -> int:
        return self.lease - self.spent - sum(self.reserved)


class AnyInterleaving(RuleBasedStateMachine):
    """Nodes come, call, settle, give back, fall silent and come back, in any order."""

    CAP = 1000
    BEFORE = 100

    def __init__(self) -> None:
        super().__init__()
        self.leases = Leases(self.CAP, spent=self.BEFORE)
        self.nodes: dict[str, FakeNode] = {}
        self.gone: dict[str, FakeNode] = {}
        self.names = 0
        self.provider = self.BEFORE

    @rule()
    def comes(self) -> None:
        self.names += 1
        self.nodes[f"n{self.names}"] = FakeNode()
        self.leases.join(f"n{self.names}")

    @precondition(lambda self: self.nodes)
    @rule(data=st.data(), worst=st.integers(1, 400))
    def calls(self, data: st.DataObject, worst: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        node = self.nodes[name]
        if node.room < worst:
            answer, node.lease = self.leases.ask(name, node.spent, worst - node.room)
            assert (node.room >= worst) == (answer is Answer.GRANTED)
        if node.room >= worst:
            node.reserved.append(worst)

    @precondition(lambda self: any(node.reserved for node in (self.nodes | self.gone).values()))
    @rule(data=st.data(), share=st.floats(0, 1))
    def settles(self, data: st.DataObject, share: float) -> None:
        """Also on a node that is only taken for lost: its calls go on."""
        everyone = self.nodes | self.gone
        name = data.draw(st.sampled_from(sorted(n for n, node in everyone.items() if node.reserved)))
        node = everyone[name]
        charge = int(node.reserved.pop() * share)
        node.spent += charge
        self.provider += charge

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def gives_back(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        node = self.nodes[name]
        node.lease = node.spent + sum(node.reserved)
        self.leases.report(name, node.spent)
        self.leases.give_back(name, node.lease)

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def falls_silent(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        self.gone[name] = self.nodes.pop(name)
        self.leases.lost(name)

    @invariant()
    def spent_and_in_flight_fit_the_budget(self) -> None:
        in_flight = sum(sum(node.reserved) for node in (self.nodes | self.gone).values())
        assert self.provider + in_flight <= self.CAP
        assert self.leases.free >= 0
        granted = {name: self.leases.lease(name) for name in self.leases._leases}
        assert self.leases.free == self.CAP - self.BEFORE - sum(granted.values())
        said = [lease.spent if lease.alive else lease.granted for lease in self.leases._leases.values()]
        assert self.leases.spent == self.BEFORE + sum(said)
        assert all(node.lease == self.leases.lease(name) for name, node in self.nodes.items())


AnyInterleaving.TestCase.settings = settings(max_examples=80, stateful_step_count=50, deadline=None)
TestAnyInterleaving = pytest.mark.slow(AnyInterleaving.TestCase)
