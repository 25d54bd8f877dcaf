"""Which attempt runs where, and what becomes of one that is lost: pure, without a clock or threads.

The caller tells what happens and when, and asks what to start next. The same code serves a cluster and its
simulation. Blocks are taken in order; the runs of one run back to back in one slot of one node, until an
attempt fails for no fault of the agent's: what is left of the block then goes to another node.
"""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from tiltyard_cluster.free_slots import FreeSlots
from tiltyard_cluster.steps import End, GivenUp, Start, Task

LOSSES = 5
"""Attempts of one run that may be lost; one that takes node after node down is given up."""


@dataclass(slots=True, eq=False)
class _Block:
    tasks: deque[Task]
    avoid: str | None = None
    """A node that failed it last: another is preferred."""
    failed: dict[str, int] = field(default_factory=dict)
    """Failed attempts by run, of this start."""
    lost: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Running:
    start: Start
    block: _Block


class Scheduler:
    """Blocks in, attempts out.

    Args:
        retries: Further attempts of a run after failed ones.
        backoff: Seconds that a block waits after a failed attempt, times the number of its failures.
    """

    def __init__(self, *, retries: int, backoff: float = 2.0) -> None:
        self._retries = retries
        self._backoff = backoff
        self._waiting: deque[_Block] = deque()
        self._delayed: list[tuple[float, int, _Block]] = []
        self._slots = FreeSlots()
        self._running: dict[int, _Running] = {}
        self._deadlines: list[tuple[float, int]] = []
        self._numbers = count(1)
        self._order = count()
        self._late: set[str] = set()
        self._stopped = False

    def submit(self, block: Sequence[Task]) -> None:
        """Queue the runs of a block."""
        if block:
            self._waiting.append(_Block(deque(block)))

    def node_up(self, name: str, slots: int) -> None:
        """A node has come, or has come back."""
        self._slots.up(name, slots)

    def node_down(self, name: str, now: float) -> list[Start]:
        """A node has gone; its attempts, all lost with it. `lost` need not be called for them."""
        self._slots.down(name)
        gone = [each.start for each in self._running.values() if each.start.node == name]
        for start in gone:
            self._take_back(start.number, now)
        return gone

    def next(self, now: float) -> Iterator[Start | GivenUp]:
        """What to start now, and which runs get no further attempt."""
        self._wake(now)
        refused: deque[_Block] = deque()
        while self._waiting and not self._stopped:
            block = self._waiting.popleft()
            self._drop_late(block)
            if not block.tasks:
                continue
            if (given_up := self._given_up(block)) is not None:
                yield given_up
                continue
            place = self._slots.take(block.avoid, now)
            if place is None:
                refused.append(block)
                break
            yield self._run(block, *place, now)
        self._waiting.extendleft(reversed(refused))

    def ended(self, number: int, end: End, now: float) -> Start | None:
        """An attempt is over. Returns the next one of its block in the same slot, to begin now.

        The end of an attempt that was taken for lost may come late: `late` is for those.

        Raises:
            KeyError: No such attempt is under way.
        """
        running = self._running.pop(number)
        start, block = running.start, running.block
        if end is End.FAILED:
            self._slots.strike(start.node, now)
            if not start.last:
                self._again(block, start, now)
                self._slots.give(start.node, start.slot)
                return None
        elif end is End.SETTLED:
            self._slots.well(start.node)
        block.tasks.popleft()
        self._drop_late(block)
        if end is End.CANCELLED or self._stopped or not block.tasks or self._slots.rests(start.node, now):
            self._requeue(block)
            self._slots.give(start.node, start.slot)
            return None
        return self._run(block, start.node, start.slot, now)

    def lost(self, number: int, now: float) -> None:
        """An attempt will not end, or its end cannot be heard: a broken worker or a passed deadline.

        Raises:
            KeyError: No such attempt is under way.
        """
        start = self._take_back(number, now)
        self._slots.strike(start.node, now)
        self._slots.give(start.node, start.slot)

    def late(self, key: str) -> None:
        """A run that was taken for lost has been settled after all; it gets no further attempt."""
        self._late.add(key)

    def overdue(self, now: float) -> list[Start]:
        """Attempts past their deadline, told once; the caller says `lost` or `put_off` for each."""
        found = []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, number = heapq.heappop(self._deadlines)
            if number in self._running:
                found.append(self._running[number].start)
        return found

    def put_off(self, number: int, until: float) -> None:
        """An attempt may take longer than was thought."""
        heapq.heappush(self._deadlines, (until, number))

    def stop(self) -> None:
        """Begin nothing further; what is under way goes on."""
        self._stopped = True

    @property
    def idle(self) -> bool:
        """Whether nothing is under way and nothing further will begin."""
        return not self._running and (self._stopped or not (self._waiting or self._delayed))

    @property
    def under_way(self) -> list[Start]:
        """The attempts under way."""
        return [each.start for each in self._running.values()]

    @property
    def open_blocks(self) -> int:
        """Blocks with runs that are open: each could have a slot now."""
        waiting = 0 if self._stopped else len(self._waiting) + len(self._delayed)
        return waiting + len(self._running)

    def wakes_at(self, now: float) -> float | None:
        """When time alone may change what `next` or `overdue` say; None for never."""
        while self._deadlines and self._deadlines[0][1] not in self._running:
            heapq.heappop(self._deadlines)
        moments = list(self._slots.ends_of_rests(now))
        moments += [self._delayed[0][0]] if self._delayed else []
        moments += [self._deadlines[0][0]] if self._deadlines else []
        return min(moments, default=None)

    def _wake(self, now: float) -> None:
        woken = []
        while self._delayed and self._delayed[0][0] <= now:
            woken.append(heapq.heappop(self._delayed)[2])
        # They were begun before those that wait: the order of the plan is kept as far as it can be.
        self._waiting.extendleft(reversed(woken))

    def _run(self, block: _Block, node: str, slot: int, now: float) -> Start:
        task = block.tasks[0]
        last = block.failed.get(task.key, 0) >= self._retries
        start = Start(next(self._numbers), node, slot, task.key, task.attempt, last)
        deadline = now + task.seconds
        self._running[start.number] = _Running(start, block)
        heapq.heappush(self._deadlines, (deadline, start.number))
        return start

    def _again(self, block: _Block, start: Start, now: float) -> None:
        """Another attempt of a run that failed, after a pause."""
        failures = block.failed.get(start.key, 0) + 1
        block.failed[start.key] = failures
        self._put_back(block, start, now + self._backoff * failures)

    def _take_back(self, number: int, now: float) -> Start:
        running = self._running.pop(number)
        start, block = running.start, running.block
        block.lost[start.key] = block.lost.get(start.key, 0) + 1
        self._put_back(block, start, now)
        return start

    def _put_back(self, block: _Block, start: Start, until: float) -> None:
        block.tasks[0] = replace(block.tasks[0], attempt=start.attempt + 1)
        block.avoid = start.node
        heapq.heappush(self._delayed, (until, next(self._order), block))

    def _requeue(self, block: _Block) -> None:
        if block.tasks:
            self._waiting.appendleft(block)

    def _drop_late(self, block: _Block) -> None:
        while block.tasks and block.tasks[0].key in self._late:
            self._late.remove(block.tasks.popleft().key)

    def _given_up(self, block: _Block) -> GivenUp | None:
        """The block's next run, if it was lost too often; the block goes on without it."""
        task = block.tasks[0]
        if block.lost.get(task.key, 0) <= LOSSES:
            return None
        block.tasks.popleft()
        self._requeue(block)
        return GivenUp(task.key, task.attempt - 1)
