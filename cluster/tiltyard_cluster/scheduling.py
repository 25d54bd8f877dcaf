"""Which attempt runs where, and what becomes of one that is lost: pure, without a clock or threads.

The caller tells what happens and when, and asks what to start next. The same code serves a cluster and its
simulation. Blocks are taken in order; the runs of one run back to back in one slot of one node, until an
attempt fails for no fault of the agent's: what is left of the block then goes to another node.
"""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count

STRIKES = 3
"""Failed attempts in a row, of whatever runs, after which a node rests."""
REST = 60.0
"""Seconds of a node's first rest; each further one is twice as long, up to `LONGEST_REST`."""
LONGEST_REST = 960.0
LOSSES = 5
"""Attempts of one run that may be lost; one that takes node after node down is given up."""


@dataclass(frozen=True, slots=True)
class Task:
    """A run, as far as a scheduler needs to know it."""

    key: str
    """Run id."""
    attempt: int
    """Ordinal of its next attempt."""
    seconds: float
    """The longest that an attempt may take: after that it is taken for lost."""


@dataclass(frozen=True, slots=True)
class Start:
    """An attempt to begin now."""

    number: int
    """Names this attempt in later calls."""
    node: str
    slot: int
    key: str
    attempt: int
    last: bool
    """Whether the run is settled even if this attempt fails."""


class End(Enum):
    """What an attempt has come to."""

    SETTLED = "settled"
    """The run has its record."""
    FAILED = "failed"
    """Infrastructure failed; the run is tried again, unless this was its last attempt."""
    CANCELLED = "cancelled"
    """The user or the budget ended it; the run stays open."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A run that gets no further attempt because all of them were lost: nobody else will record that."""

    key: str
    attempt: int
    """Ordinal of the last attempt."""


@dataclass(slots=True, eq=False)
class _Block:
    tasks: deque[Task]
    avoid: str | None = None
    """A node that failed it last: another is preferred."""
    failed: dict[str, int] = field(default_factory=dict)
    """Failed attempts by run, of this start."""
    lost: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Node:
    slots: int
    free: list[int]
    strikes: int = 0
    rests: int = 0
    rests_until: float = 0.0


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
        self._nodes: dict[str, _Node] = {}
        self._running: dict[int, _Running] = {}
        self._deadlines: list[tuple[float, int]] = []
        self._numbers = count(1)
        self._order = count()
        self._late: set[str] = set()
        self._with_room: dict[str, _Node] = {}
        self._stopped = False

    def submit(self, block: Sequence[Task]) -> None:
        """Queue the runs of a block."""
        if block:
            self._waiting.append(_Block(deque(block)))

    def node_up(self, name: str, slots: int) -> None:
        """A node has come, or has come back."""
        if name in self._nodes:
            raise ValueError(f"node {name} is up already")
        self._nodes[name] = self._with_room[name] = _Node(slots, list(range(slots)))

    def node_down(self, name: str, now: float) -> list[Start]:
        """A node has gone; its attempts, all lost with it. `lost` need not be called for them."""
        self._nodes.pop(name)
        self._with_room.pop(name, None)
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
            place = self._place(block, now)
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
        node = self._nodes[start.node]
        if end is End.FAILED:
            self._strike(node, now)
            if not start.last:
                self._again(block, start, now)
                self._vacate(start)
                return None
        elif end is End.SETTLED:
            node.strikes = node.rests = 0
        block.tasks.popleft()
        self._drop_late(block)
        if end is End.CANCELLED or self._stopped or not block.tasks or node.rests_until > now:
            self._requeue(block)
            self._vacate(start)
            return None
        return self._run(block, start.node, start.slot, now)

    def lost(self, number: int, now: float) -> None:
        """An attempt will not end, or its end cannot be heard: a broken worker or a passed deadline.

        Raises:
            KeyError: No such attempt is under way.
        """
        start = self._take_back(number, now)
        self._strike(self._nodes[start.node], now)
        self._vacate(start)

    def late(self, key: str) -> None:
        """A run that was taken for lost has been settled after all; it gets no further attempt."""
        self._late.add(key)

    def overdue(self, now: float) -> list[Start]:
        """Attempts that have passed their deadline; the caller says `lost` for each."""
        found = []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, number = heapq.heappop(self._deadlines)
            if number in self._running:
                found.append(self._running[number].start)
        return found

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
        """Blocks that wait for a slot."""
        return len(self._waiting) + len(self._delayed)

    def wakes_at(self, now: float) -> float | None:
        """When time alone may change what `next` or `overdue` say; None for never."""
        while self._deadlines and self._deadlines[0][1] not in self._running:
            heapq.heappop(self._deadlines)
        moments = [node.rests_until for node in self._with_room.values() if node.rests_until > now]
        moments += [self._delayed[0][0]] if self._delayed else []
        moments += [self._deadlines[0][0]] if self._deadlines else []
        return min(moments, default=None)

    def _wake(self, now: float) -> None:
        woken = []
        while self._delayed and self._delayed[0][0] <= now:
            woken.append(heapq.heappop(self._delayed)[2])
        # They were begun before those that wait: the order of the plan is kept as far as it can be.
        self._waiting.extendleft(reversed(woken))

    def _place(self, block: _Block, now: float) -> tuple[str, int] | None:
        """The emptiest node, and not the one that has just failed the block unless there is no other."""
        awake = [name for name, node in self._with_room.items() if node.rests_until <= now]
        if not awake:
            return None
        best = min(awake, key=lambda name: self._rank(name, block))
        node = self._nodes[best]
        slot = node.free.pop()
        if not node.free:
            del self._with_room[best]
        return best, slot

    def _rank(self, name: str, block: _Block) -> tuple[bool, float]:
        node = self._nodes[name]
        return name == block.avoid, -len(node.free) / node.slots

    def _vacate(self, start: Start) -> None:
        node = self._nodes[start.node]
        node.free.append(start.slot)
        self._with_room[start.node] = node

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

    @staticmethod
    def _strike(node: _Node, now: float) -> None:
        if node.rests_until > now:
            # What was under way fails with the rest: one trouble, however many slots it meets.
            return
        node.strikes += 1
        if node.strikes >= STRIKES:
            node.strikes = 0
            node.rests_until = now + min(REST * 2**node.rests, LONGEST_REST)
            node.rests += 1
