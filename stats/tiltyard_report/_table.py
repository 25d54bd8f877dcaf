"""Pipe tables that read well both as raw text in a terminal and as Markdown."""

from collections.abc import Sequence
from unicodedata import combining, east_asian_width


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> str:
    """An aligned table; all columns after the first `text_columns` are right-aligned."""
    cells = [[escape(cell) for cell in row] for row in (head, *rows)]
    widths = [max(3, *map(_width, column)) for column in zip(*cells, strict=True)]
    left = [index < text_columns for index in range(len(head))]
    shapes = list(zip(widths, left, strict=True))
    rule = ["-" * width if is_left else "-" * (width - 1) + ":" for width, is_left in shapes]
    lines = [[_pad(cell, *shape) for cell, shape in zip(row, shapes, strict=True)] for row in cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in (lines[0], rule, *lines[1:]))


def escape(text: str) -> str:
    """Text that cannot break out of its cell or bring markup of its own."""
    plain = " ".join(text.split())
    for character in "\\|`*[]<":
        plain = plain.replace(character, "\\" + character)
    return plain


def code(text: str, limit: int = 120) -> str:
    """Foreign text as inline code, on one line and of bounded length."""
    plain = " ".join(text.split()).replace("`", "'")
    return f"`{plain if len(plain) <= limit else plain[: limit - 1] + '…'}`"


def _pad(text: str, width: int, left: bool) -> str:  # noqa: FBT001 - the shape of a column
    space = " " * (width - _width(text))
    return text + space if left else space + text


def _width(text: str) -> int:
    """Columns that a terminal needs."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
