"""calls.jsonl: one line per settled call, written at once, so that a killed driver loses no paid call.

A call in flight has no line there yet. It gets one when it settles: at the latest when the gateway ends,
which breaks off and settles what is still open. Should the gateway itself be killed, nobody settles: so each
call is written down before it is sent on as well, in a file beside, as it stands if its answer is not heard.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from tiltyard_specs.calls import Call
from tiltyard_specs.errors import DataError

_BEGUN = ".begun"


class Journal:
    """Appends settled calls to a file at once, so that a killed driver loses no paid call."""

    def __init__(self, path: os.PathLike[str]) -> None:
        self._file = _open(Path(path))
        self._beside = _beside(Path(path))
        self._begun: int | None = None
        self._in_flight: set[int] = set()
        self.error: str | None = None

    def begin(self, call: Call) -> bool:
        """Write down a call that is about to be sent on, at its worst; False where that fails."""
        try:
            if self._begun is None:
                self._begun = _open(self._beside)
        except OSError as error:
            self.error = self.error or f"the calls file cannot be written: {error.strerror}"
        else:
            self._in_flight.add(call.index)
            self._write(self._begun, call)
        return self.error is None

    def append(self, call: Call) -> None:
        """Write one line. A failure is kept and told, because the relay must settle the call all the same."""
        self._write(self._file, call)
        if self.error is None and call.index in self._in_flight:
            self._in_flight.discard(call.index)
            if not self._in_flight and self._begun is not None:
                os.ftruncate(self._begun, 0)

    def close(self) -> None:
        """Release the files. What is settled needs no second file."""
        os.close(self._file)
        if self._begun is not None:
            os.close(self._begun)
            if not self._in_flight:
                self._beside.unlink(missing_ok=True)

    def _write(self, file: int, call: Call) -> None:
        line = _line(call)
        try:
            written = os.write(file, line)
        except OSError as error:
            self.error = self.error or f"the calls file cannot be written: {error.strerror}"
        else:
            if written < len(line):
                self.error = self.error or "the calls file took only part of a line: its disk is full"


def read_journal(path: Path) -> tuple[Call, ...]:
    """The calls of a journal, in the order of the requests. A torn last line (a full disk) is left out."""
    text = path.read_text(encoding="utf-8")
    complete, _, _ = text.rpartition("\n")
    try:
        calls = [Call.model_validate_json(line) for line in complete.splitlines() if line]
    except ValueError as error:
        raise DataError(f"{path}: a line is no recorded call: {error}") from error
    return tuple(sorted(calls, key=lambda call: call.index))


def settle_journal(path: Path) -> tuple[Call, ...]:
    """Finish the journal of a run whose gateway may have been killed, and read it.

    Calls that were in flight are added at their worst: they may have been billed. Lines that a kill or a full
    disk has torn are left out. It may be carried out again.
    """
    settled = {call.index: call for call in _valid(path)}
    open_calls = {call.index: call for call in _valid(_beside(path)) if call.index not in settled}
    if open_calls:
        text = path.read_bytes() if path.exists() else b""
        torn = b"\n" if text and not text.endswith(b"\n") else b""
        with path.open("ab") as file:
            file.write(torn + b"".join(map(_line, open_calls.values())))
    _beside(path).unlink(missing_ok=True)
    return tuple(call for _, call in sorted((settled | open_calls).items()))


def _valid(path: Path) -> Iterator[Call]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield Call.model_validate_json(line)
        except ValidationError:
            continue


def _line(call: Call) -> bytes:
    return call.model_dump_json().encode() + b"\n"


def _beside(path: Path) -> Path:
    return path.with_name(path.name + _BEGUN)


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
