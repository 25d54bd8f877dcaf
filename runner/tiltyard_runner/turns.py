"""How many agents of a node work at once.

More runs may be under way than agents work: setups and grading need processors, agents mostly their provider,
and providers limit how many may call at once.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tiltyard_runner.errors import InfraError

_TICK = 0.25


class AgentTurns:
    """At most `limit` turns at once; None for any number."""

    def __init__(self, limit: int | None = None) -> None:
        self._free = None if limit is None else threading.BoundedSemaphore(limit)

    @contextmanager
    def turn(self, stop: threading.Event) -> Iterator[float]:
        """Wait for a turn and hold it.

        Args:
            stop: Ends the wait.

        Yields:
            Seconds waited.

        Raises:
            InfraError: The trial was stopped meanwhile.
        """
        if self._free is None:
            yield 0.0
            return
        began = time.monotonic()
        while not self._free.acquire(timeout=_TICK):
            if stop.is_set():
                raise InfraError("the trial was stopped before the agent's turn had come")
        try:
            yield time.monotonic() - began
        finally:
            self._free.release()
