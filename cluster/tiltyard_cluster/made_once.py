"""Something that takes long to make: begun when it is first asked for, and made once, beside all else."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class MadeOnce(Generic[Thing]):
    """A making that failed is begun again by who asks next."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, name)
        self._asking = threading.Lock()
        self._made: Future[Thing] | None = None

    def get(self, make: Callable[[], Thing]) -> "Future[Thing]":
        """What is made, or will be."""
        with self._asking:
            if self._made is None or _failed(self._made):
                self._made = self._pool.submit(make)
            return self._made

    def close(self) -> None:
        """Wait for what is being made, and make nothing further."""
        self._pool.shutdown(cancel_futures=True)


def _failed(made: "Future[Thing]") -> bool:
    return made.done() and not made.cancelled() and made.exception() is not None
