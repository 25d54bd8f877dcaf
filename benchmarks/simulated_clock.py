"""Simulated time: processes are generators that yield how long they sleep."""

import heapq
from collections.abc import Callable, Generator
from itertools import count

Steps = Generator[float | None, None, None]
"""Yields seconds to sleep, or None to sleep until somebody wakes it."""


class Process:
    """A generator under way."""

    __slots__ = ("ended", "steps")

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.ended = False


class Clock:
    """Runs processes in the order of their times; equal times in the order of their coming."""

    def __init__(self) -> None:
        self.now = 0.0
        self.over = False
        self.current: Process | None = None
        self._heap: list[tuple[float, int, Process]] = []
        self._order = count()

    def spawn(self, steps: Steps, after: float = 0.0) -> Process:
        """Begin a process."""
        process = Process(steps)
        self._push(process, after)
        return process

    def wake(self, process: Process) -> None:
        """Go on with a process that sleeps without an end."""
        self._push(process, 0.0)

    def kill(self, process: Process) -> None:
        """End a process where it stands; its `finally` clauses run."""
        if not process.ended:
            process.ended = True
            process.steps.close()

    def run(self, each: Callable[[], None] = lambda: None) -> None:
        """Go on until `over` is set or nothing is left to do.

        Args:
            each: Called after each step.
        """
        while self._heap and not self.over:
            self.now, _, process = heapq.heappop(self._heap)
            if process.ended:
                continue
            self.current = process
            try:
                seconds = next(process.steps)
            except StopIteration:
                process.ended = True
            else:
                if seconds is not None:
                    self._push(process, seconds)
            each()

    def _push(self, process: Process, seconds: float) -> None:
        heapq.heappush(self._heap, (self.now + seconds, next(self._order), process))
