"""Patience with a store that does not answer, and what a user hears of it: once, whoever meets it."""

import threading
import time
from collections.abc import Callable

from tiltyard_specs.errors import UnavailableError

PATIENCE = 600.0
"""Seconds that an outage of the store may last while something is done that must not be lost."""
LOOK_PATIENCE = 30.0
"""The same for whoever only looks, and may look again."""
_LOOK = "see that its address is right and that it runs, then start again"
_AGAIN = 60.0
"""Seconds between two signs that it still lasts."""


class Outage:
    """An outage of one store, over all threads that wait for it.

    Args:
        store: What to call it.
        patience: Seconds that it may last.
        tell: Told of it, now and then while it lasts, and of its end, in one line each.
    """

    def __init__(self, store: str, patience: float, tell: Callable[[str], None] | None) -> None:
        self._store = store
        self._patience = patience
        self._tell = tell
        self._told: float | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> tuple[str, float]:
        return self._store, self._patience

    def __setstate__(self, state: tuple[str, float]) -> None:
        self.__init__(*state, None)  # type: ignore[misc]

    def go_on(self, problem: Exception, *, since: float, hopeless: bool) -> None:
        """See that waiting goes on.

        Args:
            problem: Why it does not answer.
            since: When the caller met it first, by the monotonic clock.
            hopeless: Whether waiting cannot help.

        Raises:
            UnavailableError: It has lasted too long, or waiting cannot help.
        """
        now = time.monotonic()
        if hopeless:
            raise UnavailableError(f"the store at {self._store} cannot be asked: {problem}") from problem
        if now - since > self._patience:
            advice = "finished runs are kept: start again to go on" if self._patience >= PATIENCE else _LOOK
            raise UnavailableError(
                f"the store at {self._store} does not answer: {problem}; {advice}"
            ) from problem
        with self._lock:
            if self._told is None:
                self._say(f"does not answer ({problem}); trying again for {self._patience:.0f} s")
            elif now - self._told > _AGAIN:
                self._say(f"has not answered for {now - since:.0f} s; trying again")
            else:
                return
            self._told = now

    def end(self) -> None:
        """It is over for the caller."""
        with self._lock:
            if self._told is not None:
                self._say("answers again")
            self._told = None

    def _say(self, what: str) -> None:
        if self._tell is not None:
            self._tell(f"the store at {self._store} {what}")
