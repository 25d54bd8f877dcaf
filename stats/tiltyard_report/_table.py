"""Pipe tables that read well both as raw text in a terminal and as Markdown."""

from collections.abc import Sequence
from unicodedata import combining, east_asian_width

from tiltyard_specs.visible import visible

WIDTH = 100
"""Columns of a terminal that a table should fit in."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> str:
    """An aligned table; all columns after the first `text_columns` are right-aligned.

    One that is too wide for a terminal goes on below itself, the first column repeated.
    """
    columns = list(zip(*([escape(cell) for cell in row] for row in (head, *rows)), strict=True))
    return "\n\n".join(
        _lines([columns[0], *(columns[index] for index in part)], text_columns) for part in _parts(columns)
    )


def aligned(parts: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The parts of some cells padded to one width each, so that the cells line up."""
    widths = [max(map(_width, column)) for column in zip(*parts, strict=True)]
    return [
        tuple(_pad(text, width, left=False) for text, width in zip(cell, widths, strict=True))
        for cell in parts
    ]


def escape(text: str) -> str:
    """Text that cannot break out of its cell or bring markup of its own."""
    plain = text
    for character in "\\|`*[]<":
        plain = plain.replace(character, "\\" + character)
    return _on_a_line(plain)


def code(text: str, limit: int = 120) -> str:
    """Foreign text as inline code, on one line and of bounded length."""
    plain = " ".join(_on_a_line(text).split()).replace("`", "'")
    return f"`{plain if len(plain) <= limit else plain[: limit - 1] + '…'}`"


def _on_a_line(text: str) -> str:
    """All foreign text comes through here: what a terminal would obey is shown, a line end is a space."""
    return "".join(" " if char.isspace() else char for char in visible(text, one_line=True))


def _parts(columns: Sequence[Sequence[str]]) -> list[list[int]]:
    """Indices of the columns after the first, in groups that fit beside it."""
    widths = [max(3, *map(_width, column)) + 3 for column in columns]
    parts: list[list[int]] = [[]]
    for index in range(1, len(columns)):
        if parts[-1] and 1 + widths[0] + sum(widths[i] for i in (*parts[-1], index)) > WIDTH:
            parts.append([])
        parts[-1].append(index)
    return parts


def _lines(columns: Sequence[Sequence[str]], text_columns: int) -> str:
    widths = [max(3, *map(_width, column)) for column in columns]
    left = [index < text_columns for index in range(len(columns))]
    shapes = list(zip(widths, left, strict=True))
    rule = ["-" * width if is_left else "-" * (width - 1) + ":" for width, is_left in shapes]
    lines = [
        [_pad(cell, width, left=is_left) for cell, (width, is_left) in zip(row, shapes, strict=True)]
        for row in zip(*columns, strict=True)
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in (lines[0], rule, *lines[1:]))


def _pad(text: str, width: int, *, left: bool) -> str:
    space = " " * (width - _width(text))
    return text + space if left else space + text


def _width(text: str) -> int:
    """Columns that a terminal needs."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
