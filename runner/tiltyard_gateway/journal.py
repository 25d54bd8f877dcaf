"""calls.jsonl: one line per settled call, written at once, so that a killed driver loses no paid call.

A call in flight has no line. It gets one when it settles: at the latest when the gateway ends, which breaks
off and settles what is still open.
"""

import os
from pathlib import Path

from tiltyard_specs.calls import Call
from tiltyard_specs.errors import DataError


class Journal:
    """Appends settled calls to a file at once, so that a killed driver loses no paid call."""

    def __init__(self, path: os.PathLike[str]) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.error: str | None = None

    def append(self, call: Call) -> None:
        """Write one line. A failure is kept and told, because the relay must settle the call all the same."""
        line = call.model_dump_json().encode() + b"\n"
        try:
            written = os.write(self._file, line)
        except OSError as error:
            self.error = self.error or f"the calls file cannot be written: {error.strerror}"
        else:
            if written < len(line):
                self.error = self.error or "the calls file took only part of a line: its disk is full"

    def close(self) -> None:
        """Release the file."""
        os.close(self._file)


def read_journal(path: Path) -> tuple[Call, ...]:
    """The calls of a journal, in the order of the requests. A torn last line (a full disk) is left out."""
    text = path.read_text(encoding="utf-8")
    complete, _, _ = text.rpartition("\n")
    try:
        calls = [Call.model_validate_json(line) for line in complete.splitlines() if line]
    except ValueError as error:
        raise DataError(f"{path}: a line is no recorded call: {error}") from error
    return tuple(sorted(calls, key=lambda call: call.index))
