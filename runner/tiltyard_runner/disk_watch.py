"""Asks the engine how much a container has written, apart from whatever waits for the container.

What runs in it can make the answer slow (a million files) or impossible (folders deeper than a path can
name): neither may hold up a time limit, and neither is a way around the disk limit.
"""

import threading
import time

import docker.errors
import requests

from tiltyard_runner.container import Container

UNMEASURED = -1
"""In the place of a size: the engine cannot say it, because of what was written."""
_INTERVAL = 1.0
_PATIENCE = 120.0
_MISSES = 3
"""This many times in a row the engine has no answer before that counts: one may be a race."""


def written(size: int) -> str:
    """How much a container had written, in words."""
    return "more, or deeper folders, than the engine can measure" if size == UNMEASURED else f"{size} bytes"


class DiskWatch:
    """Holds one container to a number of bytes.

    Args:
        container: Running or ended.
        limit: Bytes that its writable layer may not reach.
    """

    def __init__(self, container: Container, limit: int) -> None:
        self._container = container
        self._limit = limit
        self._asked = time.monotonic()
        self._asking: threading.Thread | None = None
        self._size: int | None = None
        self._misses = 0

    def passed(self) -> int | None:
        """The size beyond the limit, `UNMEASURED`, or None while all is well; never waits."""
        if self._asking is None and time.monotonic() - self._asked > _INTERVAL:
            self._ask()
        return self._answer(0.0)

    def final(self) -> int | None:
        """The same for a container that has ended, measured anew."""
        # One that is under way may have begun before the end.
        found = self._answer(_PATIENCE)
        while found is None:
            self._ask()
            found = self._answer(_PATIENCE)
            if not self._misses:
                return found
        return found

    def _ask(self) -> None:
        self._asked = time.monotonic()
        self._asking = threading.Thread(target=self._measure, daemon=True, name="disk")
        self._asking.start()

    def _measure(self) -> None:
        try:
            self._size = self._container.layer_bytes()
        except (docker.errors.DockerException, requests.RequestException):
            # An engine that is gone is noticed by who waits for the process.
            self._size = None

    def _answer(self, wait: float) -> int | None:
        if self._asking is None:
            return None
        self._asking.join(wait)
        if self._asking.is_alive():
            return UNMEASURED if time.monotonic() - self._asked >= _PATIENCE else None
        self._asking = None
        size = self._size
        self._misses = self._misses + 1 if size is not None and size < 0 else 0
        if self._misses >= _MISSES:
            return UNMEASURED
        return size if size is not None and size >= self._limit else None
