"""Says what a command is at when it takes more than a moment, on standard error."""

import sys
import threading
from types import TracebackType
from typing import Self

from tiltyard_specs.visible import visible

_FIRST = 1.0
"""Seconds of silence."""
_AGAIN = 10.0
"""Seconds between two lines in a log; a terminal shows one line that changes."""
_TICK = 0.25


class Waiting:
    """Shows the latest step that it was told. A context manager; safe to call from any thread."""

    def __init__(self) -> None:
        self._step = ""
        self._shown = ""
        self._live = sys.stderr.isatty()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, name="waiting", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._live and self._shown:
            self._write("\r\x1b[K")

    def __call__(self, step: str) -> None:
        """The step that is under way now. It may name a folder, whose name may hold anything."""
        self._step = visible(step)

    def _show(self) -> None:
        pause = _FIRST
        while not self._ended.wait(pause):
            if self._step and self._step != self._shown:
                self._write(f"\r{self._step}\x1b[K" if self._live else f"{self._step}\n")
                self._shown = self._step
            pause = _TICK if self._live else _AGAIN

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
