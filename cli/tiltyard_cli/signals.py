"""SIGINT and SIGTERM while a trial runs: once, finish cleanly; twice, stop now."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tiltyard_cluster import Stopper

_SAID = {
    1: "stopping: the runs under way are finished first; interrupt again to stop now",
    2: "stopping now",
}


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within the block, SIGINT and SIGTERM raise KeyboardInterrupt, also where a shell has SIGINT ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stop_on_signals(stopper: Stopper) -> Iterator[None]:
    """Within the block, signals go to `stopper`; SIGTERM counts as two interrupts."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # the signal module's signature
        for _ in range(2 if number == signal.SIGTERM else 1):
            stopper.request()
        # Not through sys.stderr: the signal may have come while that was being written to.
        os.write(sys.stderr.fileno(), f"\n{_SAID.get(stopper.asked, _SAID[2])}\n".encode())

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
