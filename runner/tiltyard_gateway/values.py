"""How many values a JSON text holds, told while it comes: before its parser has filled the memory with them.

An empty list is two bytes of text and a hundred of memory, so a limit on bytes alone bounds nothing.
"""

from collections.abc import Iterator

MOST_VALUES = 250_000
"""Many times what a long session of an agent with a hundred tools sends; a parser needs half a second."""
PIECE = 256 * 1024
"""Bytes that are looked at in one go, some milliseconds."""
_TEXT = bytes(set(range(256)) - set(b'"[{,:'))
"""Most of a request. It is dropped first, because splitting at the quotes copies what is between them."""


class ValueCounter:
    """Counts brackets and commas outside of strings: at least as many as the values, but one."""

    def __init__(self) -> None:
        self.values = 0
        self.members = 0
        """Names with a value: colons outside of strings. A parser that finds fewer has met a name twice."""
        self._in_string = False
        self._escaped = False

    def feed(self, piece: bytes) -> None:
        """More of the text. Where it is no JSON, the count is right up to there, as far as a parser gets."""
        plain = piece[1:] if self._escaped else piece
        if b"\\" in plain:
            # From the left, as a parser reads them: first the escaped backslashes, then the escaped quotes.
            plain = plain.replace(b"\\\\", b"").replace(b'\\"', b"")
        self._escaped = plain.endswith(b"\\") if piece else self._escaped
        parts = plain.translate(None, _TEXT).split(b'"')
        outside = b"".join(parts[1 if self._in_string else 0 :: 2])
        self._in_string ^= len(parts) % 2 == 0
        self.values += sum(map(outside.count, (b"[", b"{", b",")))
        self.members += outside.count(b":")


def pieces(data: bytes) -> Iterator[bytes]:
    """The text in pieces, between which others can have their turn."""
    for start in range(0, len(data), PIECE):
        yield data[start : start + PIECE]
