"""The scheduler alone: what it promises under any order of ends, losses, and nodes that come and go."""

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tiltyard_cluster.free_slots import REST, STRIKES
from tiltyard_cluster.scheduling import LOSSES, Scheduler
from tiltyard_cluster.steps import End, GivenUp, Start, Task

SECONDS = 100.0


def block(*keys: str) -> list[Task]:
    return [Task(key, 1, SECONDS) for key in keys]


def started(scheduler: Scheduler, now: float) -> list[Start]:
    return [each for each in scheduler.next(now) if isinstance(each, Start)]


def test_the_runs_of_a_block_follow_each_other_in_one_slot() -> None:
    scheduler = Scheduler(retries=0)
    scheduler.node_up("a", 2)
    scheduler.submit(block("x1", "x2"))
    scheduler.submit(block("y1"))

    first, other = started(scheduler, 0)
    then = scheduler.ended(first.number, End.SETTLED, 1)

    assert (first.key, other.key) == ("x1", "y1")
    assert then is not None
    assert (then.key, then.node, then.slot) == ("x2", first.node, first.slot)


def test_blocks_spread_over_the_emptiest_nodes() -> None:
    scheduler = Scheduler(retries=0)
    scheduler.node_up("a", 2)
    scheduler.node_up("b", 2)
    for number in range(5):
        scheduler.submit(block(f"run{number}"))

    assert sorted(start.node for start in started(scheduler, 0)) == ["a", "a", "b", "b"]
    assert scheduler.open_blocks == 5
    scheduler.stop()
    assert scheduler.open_blocks == 4


def test_a_failed_attempt_goes_to_another_node_after_a_pause_with_the_rest_of_its_block() -> None:
    scheduler = Scheduler(retries=2, backoff=2.0)
    scheduler.node_up("a", 1)
    scheduler.submit(block("x1", "x2"))
    (first,) = started(scheduler, 0)
    scheduler.node_up("b", 1)

    assert scheduler.ended(first.number, End.FAILED, 10) is None
    assert started(scheduler, 11) == []
    assert scheduler.wakes_at(11) == 12
    (again,) = started(scheduler, 12)

    assert (again.node, again.key, again.attempt, again.last) == ("b", "x1", 2, False)
    then = scheduler.ended(again.number, End.SETTLED, 13)
    assert then is not None
    assert (then.node, then.key, then.attempt) == ("b", "x2", 1)


def test_the_last_attempt_says_so_and_settles_the_run_though_it_fails() -> None:
    scheduler = Scheduler(retries=1, backoff=0.0)
    scheduler.node_up("a", 1)
    scheduler.submit(block("x1", "x2"))
    (first,) = started(scheduler, 0)
    scheduler.ended(first.number, End.FAILED, 0)
    (second,) = started(scheduler, 0)

    assert (first.last, second.last) == (False, True)
    then = scheduler.ended(second.number, End.FAILED, 0)
    assert then is not None
    assert then.key == "x2"


def test_what_ran_on_a_lost_node_begins_again_elsewhere_as_a_new_attempt() -> None:
    scheduler = Scheduler(retries=0)
    scheduler.node_up("a", 2)
    scheduler.submit(block("x1", "x2"))
    scheduler.submit(block("y1"))
    begun = started(scheduler, 0)

    assert scheduler.node_down("a", 1) == begun
    assert started(scheduler, 1) == []
    scheduler.node_up("b", 2)
    assert [(each.key, each.attempt, each.node) for each in started(scheduler, 1)] == [
        ("x1", 2, "b"), ("y1", 2, "b"),
    ]  # fmt: skip


def test_a_run_that_is_lost_again_and_again_is_given_up() -> None:
    scheduler = Scheduler(retries=9)
    scheduler.submit(block("x1", "x2"))
    for number in range(LOSSES + 1):
        scheduler.node_up(f"n{number}", 1)
        assert [each.key for each in started(scheduler, number)] == ["x1"]
        scheduler.node_down(f"n{number}", number)
    scheduler.node_up("last", 1)

    given_up, then = list(scheduler.next(99))
    assert given_up == GivenUp("x1", LOSSES + 1)
    assert isinstance(then, Start)
    assert then.key == "x2"


def test_a_passed_deadline_is_told_once() -> None:
    scheduler = Scheduler(retries=0)
    scheduler.node_up("a", 1)
    scheduler.submit(block("x1"))
    (start,) = started(scheduler, 0)

    assert scheduler.overdue(SECONDS - 1) == []
    assert scheduler.overdue(SECONDS) == [start]
    scheduler.lost(start.number, SECONDS)
    assert scheduler.overdue(SECONDS) == []
    assert [each.attempt for each in started(scheduler, SECONDS)] == [2]


def test_a_deadline_may_be_put_off() -> None:
    """As for a run whose calls were held back."""
    scheduler = Scheduler(retries=0)
    scheduler.node_up("a", 1)
    scheduler.submit(block("run"))
    (start,) = started(scheduler, 0)
    assert scheduler.overdue(SECONDS) == [start]
    scheduler.put_off(start.number, SECONDS + 5)

    assert scheduler.wakes_at(SECONDS) == SECONDS + 5
    assert scheduler.overdue(SECONDS + 4) == []
    assert scheduler.overdue(SECONDS + 5) == [start]


def test_a_run_that_was_settled_late_does_not_begin_again() -> None:
    scheduler = Scheduler(retries=0)
    scheduler.node_up("a", 1)
    scheduler.submit(block("x1", "x2"))
    (start,) = started(scheduler, 0)
    scheduler.lost(start.number, 1)
    scheduler.late("x1")

    assert [each.key for each in started(scheduler, 1)] == ["x2"]


def test_a_node_on_which_one_attempt_after_the_other_fails_rests_longer_each_time() -> None:
    """Else a broken node, which is always free, would take the whole trial to itself."""
    scheduler = Scheduler(retries=100, backoff=0.0)
    scheduler.node_up("a", 1)
    now = 0.0
    for rest in (REST, 2 * REST, 4 * REST):
        scheduler.submit(block(f"x{now}"))
        for _ in range(STRIKES):
            (start,) = started(scheduler, now)
            assert scheduler.ended(start.number, End.FAILED, now) is None
        assert started(scheduler, now + rest - 1) == []
        assert scheduler.wakes_at(now) == now + rest
        now += rest


def test_a_trouble_that_meets_many_slots_at_once_is_one_trouble() -> None:
    """An engine that is restarted fails all attempts of its node, which then rests no longer for that."""
    scheduler = Scheduler(retries=100, backoff=0.0)
    scheduler.node_up("a", 4 * STRIKES)
    for number in range(4 * STRIKES):
        scheduler.submit(block(f"x{number}"))
    for start in started(scheduler, 0):
        assert scheduler.ended(start.number, End.FAILED, 0) is None

    assert started(scheduler, REST - 1) == []
    assert len(started(scheduler, REST)) == 4 * STRIKES


def test_after_a_stop_nothing_begins() -> None:
    scheduler = Scheduler(retries=0)
    scheduler.node_up("a", 1)
    scheduler.submit(block("x1", "x2"))
    (start,) = started(scheduler, 0)
    scheduler.stop()

    assert not scheduler.idle
    assert scheduler.ended(start.number, End.SETTLED, 1) is None
    assert started(scheduler, 2) == []
    assert scheduler.idle


def test_a_node_cannot_come_twice() -> None:
    scheduler = Scheduler(retries=0)
    scheduler.node_up("a", 1)
    with pytest.raises(ValueError, match="node a is up already"):
        scheduler.node_up("a", 1)


class AnyOrder(RuleBasedStateMachine):
    """Whatever happens in whatever order."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Scheduler(retries=2, backoff=1.0)
        self.now = 0.0
        self.nodes: dict[str, int] = {}
        self.running: dict[int, Start] = {}
        self.open: dict[str, str] = {}
        self.attempts: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        self.names = 0

    @initialize(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8))
    def submit(self, sizes: list[int]) -> None:
        for number, size in enumerate(sizes):
            keys = [f"{number}.{place}" for place in range(size)]
            self.open |= dict.fromkeys(keys, str(number))
            self.scheduler.submit(block(*keys))

    @rule(slots=st.integers(1, 3))
    def node_comes(self, slots: int) -> None:
        self.names += 1
        self.nodes[f"n{self.names}"] = slots
        self.scheduler.node_up(f"n{self.names}", slots)

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def node_goes(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        del self.nodes[name]
        gone = self.scheduler.node_down(name, self.now)
        assert {each.number for each in gone} == {
            number for number, start in self.running.items() if start.node == name
        }
        for each in gone:
            del self.running[each.number]

    @rule(seconds=st.floats(0, 150))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        for start in self.scheduler.overdue(self.now):
            del self.running[start.number]
            self.scheduler.lost(start.number, self.now)

    @rule()
    def work_begins(self) -> None:
        for each in self.scheduler.next(self.now):
            if isinstance(each, GivenUp):
                del self.open[each.key]
            else:
                self._begin(each)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), end=st.sampled_from([End.SETTLED, End.SETTLED, End.FAILED]))
    def attempt_ends(self, data: st.DataObject, end: End) -> None:
        start = self.running.pop(data.draw(st.sampled_from(sorted(self.running))))
        if end is End.SETTLED or start.last:
            del self.open[start.key]
        then = self.scheduler.ended(start.number, end, self.now)
        if then is not None:
            assert (then.node, then.slot) == (start.node, start.slot)
            self._begin(then)

    def _begin(self, start: Start) -> None:
        assert start.key in self.open
        assert start.attempt == self.attempts.get(start.key, 0) + 1
        self.attempts[start.key] = start.attempt
        self.running[start.number] = start

    @invariant()
    def slots_and_blocks_hold_one_attempt_each(self) -> None:
        places = [(start.node, start.slot) for start in self.running.values()]
        assert len(places) == len(set(places))
        assert all(node in self.nodes and slot < self.nodes[node] for node, slot in places)
        blocks = [self.open[start.key] for start in self.running.values()]
        assert len(blocks) == len(set(blocks))

    def teardown(self) -> None:
        """With a sound node and time, everything comes to its end."""
        self.scheduler.node_up("sound", 2)
        self.nodes["sound"] = 2
        for _ in range(1000):
            self.work_begins()
            if not self.open:
                break
            for number in list(self.running):
                start = self.running.pop(number)
                del self.open[start.key]
                then = self.scheduler.ended(number, End.SETTLED, self.now)
                if then is not None:
                    self._begin(then)
            self.now += 10
        assert self.open == {}
        assert self.scheduler.idle


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAnyOrder = pytest.mark.slow(AnyOrder.TestCase)
