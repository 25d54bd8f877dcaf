"""Server-sent events, read incrementally from a copy of the stream that passes by."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

MAX_EVENT = 16 * 1024 * 1024
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


class Event(NamedTuple):
    """One dispatched event."""

    name: str
    data: bytes


class SseParser:
    """Feed it chunks cut anywhere; it yields each event once its blank line has come."""

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._buffer = bytearray()
        self._scanned = 0
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self._max = max_event
        self.overflowed = False
        """An event was larger than the limit and was dropped: what it said is unknown."""

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Take the next bytes of the stream and yield the events that they complete."""
        self._buffer += chunk
        while (end := self._buffer.find(b"\n", self._scanned)) >= 0:
            line = bytes(self._buffer[:end]).rstrip(b"\r")
            del self._buffer[: end + 1]
            self._scanned = 0
            event = self._line(line)
            if event is not None:
                yield event
        self._scanned = len(self._buffer)
        if self._scanned > self._max:
            self._drop()

    def close(self) -> Iterator[Event]:
        """The stream has ended: an event whose blank line is missing counts all the same."""
        if self._buffer:
            yield from self.feed(b"\n")
        yield from self.feed(b"\n")

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"data":
            self._data.append(value)
            self._size += len(value)
            if self._size > self._max:
                self._drop()
        return None

    def _dispatch(self) -> Event | None:
        name, data = self._name, b"\n".join(self._data)
        self._name, self._data, self._size = "", [], 0
        return Event(name, data) if data else None

    def _drop(self) -> None:
        self.overflowed = True
        self._buffer.clear()
        self._data.clear()
        self._scanned = self._size = 0


class Sieve:
    """Takes events out of a passing stream; the others pass byte for byte, each as soon as it is whole."""

    def __init__(self, hidden: Callable[[bytes], bool]) -> None:
        self._hidden = hidden
        self._buffer = b""

    def feed(self, chunk: bytes) -> bytes:
        """What may pass of the next bytes and of those held back."""
        self._buffer += chunk
        passed, start = [], 0
        for gap in _BLANK_LINE.finditer(self._buffer):
            block = self._buffer[start : gap.end()]
            start = gap.end()
            if not any(self._hidden(event.data) for event in SseParser().feed(block)):
                passed.append(block)
        self._buffer = self._buffer[start:]
        if len(self._buffer) > MAX_EVENT:
            passed.append(self.close())
        return b"".join(passed)

    def close(self) -> bytes:
        """What is still held back."""
        rest, self._buffer = self._buffer, b""
        return rest
