"""Streams a process's output to disk, bounded: what lies beyond the bound is read and dropped."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

_LONGEST_WORD = 4096


class OutputFiles:
    """raw.out and raw.err of one process, together at most `limit` bytes.

    The rest is drained, not left unread: a full pipe would stall the process instead of bounding it.
    """

    def __init__(self, stdout: Path, stderr: Path, limit: int) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self._left = limit
        self.dropped = 0
        """Bytes that did not fit."""
        self._cut: set[BinaryIO] = set()

    def __enter__(self) -> Self:
        self._out = self.stdout.open("ab")
        # One log for both streams keeps their order.
        self._err = self._out if self.stderr == self.stdout else self.stderr.open("ab")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out.close()
        self._err.close()

    def write(self, out: bytes | None, err: bytes | None) -> None:
        """Append one chunk of either stream."""
        for chunk, file in ((out, self._out), (err, self._err)):
            if chunk:
                self._append(chunk, file)

    def _append(self, chunk: bytes, file: BinaryIO) -> None:
        kept = chunk[: self._left]
        self._left -= len(kept)
        self.dropped += len(chunk) - len(kept)
        file.write(kept)
        if len(kept) < len(chunk) and file not in self._cut:
            self._cut.add(file)
            self.dropped += _drop_last_word(file)


def _drop_last_word(file: BinaryIO) -> int:
    """Take off what may be the beginning of a key, of which the rest was dropped; how many bytes that was."""
    file.flush()
    size = file.tell()
    with Path(file.name).open("rb") as written:
        written.seek(max(0, size - _LONGEST_WORD))
        end = written.read()
    kept = max(end.rfind(blank) for blank in (b" ", b"\n", b"\t", b'"')) + 1
    lost = len(end) - kept if kept else 0
    file.truncate(size - lost)
    return lost


class Drain:
    """Reads a process's output in a thread of its own until it ends."""

    def __init__(self, stream: Iterator[tuple[bytes | None, bytes | None]], files: OutputFiles) -> None:
        self._stream = stream
        self._files = files
        self._chunks = 0
        self.error: Exception | None = None
        """What broke the stream, for instance an engine that stopped."""
        self._thread = threading.Thread(target=self._read, daemon=True, name="output")

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether the output has ended within `seconds`."""
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    def linger(self, seconds: float, longest: float) -> None:
        """Wait for the rest of the output of a process that has ended.

        A child may hold it open, so it is given up when nothing comes for some seconds. Only before its first
        piece it has longer: on a machine with much to do the engine may be late with all of it.
        """
        end, seen = time.monotonic() + longest, 0
        while not self.wait(seconds) and time.monotonic() < end:
            if 0 < self._chunks == seen:
                return
            seen = self._chunks

    def _read(self) -> None:
        try:
            for out, err in self._stream:
                self._files.write(out, err)
                self._chunks += 1
        except Exception as error:  # noqa: BLE001  # a thread must hand on whatever broke it
            self.error = error
