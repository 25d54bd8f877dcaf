"""Reads the JSON lines of an agent's output, which may be cut, huge, binary or hostile.

An agent's output is untrusted and may have been ended by a kill in the middle of a line, so nothing here
raises on what it finds, and no line can fill the memory.
"""

import json
import math
import re
from codecs import BOM_UTF8
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

_LONGEST_WORD = 1024
"""A longer one is no key."""

Event = Mapping[str, Any]


def events(path: Path) -> Iterator[Event]:
    """The JSON objects of a file of JSON lines, or of arrays on lines; all else is passed over."""
    if not path.exists():
        return
    with path.open("rb") as stream:
        for line in _lines(stream):
            yield from _objects(line)


def document(path: Path, limit: int) -> object:
    """The one JSON value that a file holds; None when it holds none, or more bytes than the limit."""
    with path.open("rb") as stream:
        content = stream.read(limit + 1)
    return _value(content.removeprefix(BOM_UTF8)) if len(content) <= limit else None


def tail(path: Path) -> str:
    """The last few lines of a stream as text, for an error message."""
    if not path.exists():
        return ""
    return ending(path, TAIL_BYTES).strip()


def ending(path: Path, longest: int) -> str:
    """The end of a file as text, without what is left of a word at its beginning: it may be half a key."""
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - longest))
        content = stream.read(longest)
    if size > longest and (blank := re.search(rb"\s", content[:_LONGEST_WORD])):
        content = content[blank.start() :]
    return content.decode("utf-8", "replace")


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


def value_at(content: str, at: int) -> tuple[object, int]:
    """One JSON value that begins at a place, and where it ends.

    Raises:
        ValueError: No whole value begins there.
    """
    value, end = _DECODER.raw_decode(content, at)
    return _without_surrogates(value), end


def _finite(digits: str) -> float | None:
    """A number as JSON may write it again: Python reads 1e999 as infinity."""
    value = float(digits)
    return value if math.isfinite(value) else None


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=lambda _: None)


def _without_surrogates(value: Any) -> Any:
    """A JSON value whose strings can all be written as UTF-8; a lone escaped surrogate is legal JSON."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _value(content: bytes) -> object:
    try:
        value = _DECODER.decode(content.decode("utf-8", "replace"))
        return _without_surrogates(value) if b"\\ud" in content.lower() else value
    except (ValueError, RecursionError):
        return None


def _objects(line: bytes) -> Iterator[Event]:
    """What one line holds: `claude --output-format json --verbose` prints a whole run as one array."""
    line = line.removeprefix(BOM_UTF8)  # some shells begin a file with it
    value = _value(line) if line.lstrip().startswith((b"{", b"[")) else None
    yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict))
