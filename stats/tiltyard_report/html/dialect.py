"""The sections of the Markdown report as data, so that a page has every table that Markdown has.

It reads what `markdown.py` writes and no other Markdown: one layout of the report is kept, and the page
cannot fall behind it. A table that was split to fit a terminal becomes one again.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

from tiltyard_specs.visible import visible

_INLINE = re.compile(r"\\([\\|`*\[\]<])|`([^`]*)`|\*\*(.+?)\*\*|\*(.+?)\*(?!\*)")
_CELL = re.compile(r"(?:\\.|[^\\|])+")
_RULE = re.compile(r"\|[ :|-]+\|")


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its texts are HTML already."""

    head: tuple[Markup, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Markup, ...], ...]

    kind: str = "table"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading, a quote or a list of lines."""

    kind: str
    lines: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading."""

    title: str
    blocks: tuple[Table | Block, ...]

    @property
    def rows(self) -> int:
        """Of its longest table."""
        return max((len(block.rows) for block in self.blocks if isinstance(block, Table)), default=0)


def sections(markdown: str) -> tuple[Section, ...]:
    """The sections of a report in Markdown; what stands before the first heading is left out."""
    parts = re.split(r"(?m)^## ", markdown)[1:]
    return tuple(_section(part) for part in parts)


def _section(text: str) -> Section:
    title, _, body = text.partition("\n")
    blocks = list(_joined([_block(part) for part in re.split(r"\n\s*\n", body.strip("\n")) if part.strip()]))
    return Section(str(_plain(title)), tuple(blocks))


def _plain(text: str) -> str:
    return re.sub(r"\\([\\|`*\[\]<])", r"\1", text).strip()


def _block(text: str) -> Table | Block:
    lines = text.split("\n")
    if text.startswith("|") and len(lines) > 1 and _RULE.fullmatch(lines[1]):
        return _table(lines)
    if text.startswith("- "):
        items = re.split(r"(?m)^- ", text)[1:]
        return Block("list", tuple(_inline(item.strip()) for item in items))
    if text.startswith("### "):
        return Block("heading", (_inline(text[4:]),))
    if text.startswith("> "):
        return Block("quote", (_inline(text[2:].replace("\n> ", "\n")),))
    return Block("text", (_inline(text),))


def _table(lines: Sequence[str]) -> Table:
    head, rule, *rows = [[cell.strip() for cell in _CELL.findall(line.strip().strip("|"))] for line in lines]
    return Table(
        tuple(map(_inline, head)),
        tuple(mark.endswith(":") for mark in rule),
        tuple(tuple(map(_inline, row)) for row in rows),
    )


def _joined(blocks: Sequence[Table | Block]) -> Iterator[Table | Block]:
    """Tables beside each other whose first columns are alike are one table."""
    last: Table | Block | None = None
    for block in blocks:
        if isinstance(last, Table) and isinstance(block, Table) and _alike(last, block):
            rows = (mine + other[1:] for mine, other in zip(last.rows, block.rows, strict=True))
            last = replace(
                last,
                head=last.head + block.head[1:],
                numeric=last.numeric + block.numeric[1:],
                rows=tuple(rows),
            )
            continue
        if last is not None:
            yield last
        last = block
    if last is not None:
        yield last


def _alike(one: Table, other: Table) -> bool:
    return one.head[0] == other.head[0] and [row[0] for row in one.rows] == [row[0] for row in other.rows]


def _inline(text: str) -> Markup:
    parts, done = [], 0
    for match in _INLINE.finditer(text):
        parts.append(escape(_seen(text[done : match.start()])))
        parts.append(_marked(match))
        done = match.end()
    return Markup().join([*parts, escape(_seen(text[done:]))])


def _marked(match: re.Match[str]) -> Markup:
    char, code, bold, slanted = match.groups()
    if char is not None:
        return escape(char)
    if code is not None:
        return Markup("<code>{}</code>").format(_seen(code))
    if bold is not None:
        return Markup("<strong>{}</strong>").format(_inline(bold))
    return Markup("<em>{}</em>").format(_inline(slanted))


def _seen(text: str) -> str:
    return visible(text, one_line=True)
