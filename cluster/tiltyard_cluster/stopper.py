"""How a user's interrupt reaches a trial under way."""

from collections.abc import Callable


class Stopper:
    """Asked once: finish the runs under way and stop. Asked again: stop now.

    A signal handler calls `request`; the trial says with `attach` who carries it out.
    """

    def __init__(self) -> None:
        self._cancel: Callable[[bool], None] | None = None
        self.asked = 0
        """How often the user has asked."""

    def attach(self, cancel: Callable[[bool], None]) -> None:
        """From now on `cancel(now)` carries requests out."""
        self._cancel = cancel

    def request(self) -> None:
        """Ask to stop.

        Raises:
            KeyboardInterrupt: Nothing runs yet, so there is nothing to finish. No narrower error: it may come
                up inside a library that would take an `Exception` for a failure of its own.
        """
        self.asked += 1
        if self._cancel is None:
            raise KeyboardInterrupt
        self._cancel(self.asked > 1)
