"""Reads the JSON lines of an agent's output, which may be cut, huge, binary or hostile.

An agent's output is untrusted and may have been ended by a kill in the middle of a line, so nothing here
raises on what it finds, and no line can fill the memory.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer line is skipped: the largest real ones (a tool result that holds a file) stay far below."""
MAX_TOOL_CALLS = 10_000
"""Tool calls kept of one run; a run with more is still read to its end."""
MAX_NUMBER = 10**15
"""Nothing that an agent counts is larger; a table of 64-bit integers holds it."""
TAIL_BYTES = 4096
"""How much of the end of a stream an error message is made from."""

Event = Mapping[str, Any]


def events(path: Path) -> Iterator[Event]:
    """The JSON objects of a file of JSON lines; lines that are anything else are passed over."""
    if not path.exists():
        return
    with path.open("rb") as stream:
        for line in _lines(stream):
            event = _parse(line)
            if event is not None:
                yield event


def tail(path: Path) -> str:
    """The last few lines of a stream as text, for an error message."""
    if not path.exists():
        return ""
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - TAIL_BYTES))
        return stream.read(TAIL_BYTES).decode("utf-8", "replace").strip()


def mapping(value: object) -> Event:
    """The value if it is a JSON object, else an empty one: hostile output has any shape."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """The value if it is a string."""
    return value if isinstance(value, str) else None


def count(value: object) -> int | None:
    """The value if it is a number of tokens or turns: an integer of sensible size."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_NUMBER else None


def number(value: object) -> float | None:
    """The value if it is a number of sensible size that is not negative."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= MAX_NUMBER else None


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    skipping = False
    while chunk := stream.readline(MAX_LINE_BYTES):
        whole = chunk.endswith(b"\n")
        if not skipping and (whole or len(chunk) < MAX_LINE_BYTES):
            yield chunk
        skipping = not whole


def _without_surrogates(value: str) -> str:
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _cleaned(value: Any) -> Any:
    """A JSON value whose strings can all be written as UTF-8; a lone escaped surrogate is legal JSON."""
    if isinstance(value, str):
        return _without_surrogates(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _cleaned(item) for key, item in value.items()}
    return value


def _parse(line: bytes) -> Event | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
        if b"\\ud" in line.lower():
            value = _cleaned(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
