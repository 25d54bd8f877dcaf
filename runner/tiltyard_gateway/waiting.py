"""How long a run's calls were held back: for room in a budget, or because a provider is overloaded.

That time is not the run's, so it does not count against the run's timeout. Calls that wait side by side wait
once.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


class Waiting:
    """The time in which at least one call was held back.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._calls = 0
        self._since = 0.0
        self._before = 0.0

    @contextmanager
    def one(self) -> Iterator[None]:
        """A call is held back while the block lasts."""
        if self._calls == 0:
            self._since = self._clock()
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            if self._calls == 0:
                self._before += self._clock() - self._since

    @property
    def seconds(self) -> float:
        """In all until now, with what waits now."""
        return self._before + (self._clock() - self._since if self._calls else 0.0)
