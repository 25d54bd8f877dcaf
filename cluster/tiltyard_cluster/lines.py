"""Files of records: one canonical JSON object a line, zstd-compressed, sorted."""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic_core import from_json

from tiltyard_specs.errors import DataError

_CHUNK = 1 << 20
Key = tuple[str, int]
"""What lines are sorted by: run id and attempt."""


class LineWriter:
    """Writes lines to a new file, which a thread of its own compresses. A context manager.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows = 0

    def __enter__(self) -> Self:
        import pyarrow as pa  # noqa: PLC0415  # 0.2 s that only compacted files need

        self._file = pa.CompressedOutputStream(str(self._path), "zstd")
        self._pool = ThreadPoolExecutor(1)
        self._written: Future[object] | None = None
        self._held: list[bytes] = []
        self._held_bytes = 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._flush()
            self._await()
        finally:
            self._pool.shutdown()
            self._file.close()

    def add(self, line: bytes) -> None:
        """One more line, without its end."""
        self._held.append(line)
        self._held_bytes += len(line)
        self.rows += 1
        if self._held_bytes > _CHUNK:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            text = b"\n".join([*self._held, b""])
            self._await()
            self._written = self._pool.submit(self._file.write, text)
        self._held, self._held_bytes = [], 0

    def _await(self) -> None:
        """See that what was handed on is written: no more than one piece is under way."""
        if self._written is not None:
            self._written.result()


def read_lines(
    path: Path, name: str, *, ahead: Executor | None = None, chunk: int = _CHUNK
) -> Iterator[bytes]:
    """The lines of a file, without their ends, in little memory.

    Args:
        path: The file.
        name: What to call it in messages.
        ahead: Threads in which the next part is read while this one is used.
        chunk: Bytes of a part.

    Raises:
        DataError: It is damaged or cut off.
    """
    import pyarrow as pa  # noqa: PLC0415

    try:
        with pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd") as file:
            rest = b""
            for text in _parts(partial(file.read, chunk), ahead):
                *whole, rest = (rest + text).split(b"\n")
                yield from whole
    except OSError as error:
        raise DataError(f"{name} is damaged: {error}") from error
    if rest:
        raise DataError(f"{name} is cut off in the middle of a record")


def _parts(read: Callable[[], bytes], ahead: Executor | None) -> Iterator[bytes]:
    """What one reading after the other gives, until there is no more."""
    if ahead is None:
        yield from iter(read, b"")
        return
    coming = ahead.submit(read)
    try:
        while text := coming.result():
            coming = ahead.submit(read)
            yield text
    finally:
        # Who closes the file must not do so under a reader.
        wait([coming])


def keyed(lines: Iterator[bytes], name: str) -> Iterator[tuple[Key, bytes]]:
    """Each line with its key; the keys must rise.

    Raises:
        DataError: A line is no record, or stands in the wrong place.
    """
    before: Key | None = None
    for line in lines:
        key = _key(line, name)
        if before is not None and key <= before:
            raise DataError(f"{name} is damaged: run {key[0]} stands in the wrong place, or twice")
        before = key
        yield key, line


def _key(line: bytes, name: str) -> Key:
    try:
        record: Any = from_json(line)
        return str(record["run_id"]), int(record["attempt"])
    except (ValueError, TypeError, KeyError):
        raise DataError(f"{name} is damaged: a line in it is no record") from None


def digest_of(line: bytes) -> str:
    """The digest of a record, whose canonical JSON this is."""
    return hashlib.sha256(line).hexdigest()


def file_sha256(path: Path) -> str:
    """The digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
