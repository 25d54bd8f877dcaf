"""A patch as lines that a style sheet can colour."""

from collections.abc import Iterator
from dataclasses import dataclass

_HEADS = (
    "diff ",
    "index ",
    "--- ",
    "+++ ",
    "new file",
    "deleted file",
    "similarity ",
    "rename ",
    "GIT binary",
)


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a patch."""

    kind: str
    """`file`, `hunk`, `add`, `del`, or nothing for context."""
    text: str


def diff_lines(text: str, limit: int = 4_000) -> tuple[list[DiffLine], int]:
    """The lines of a patch, at most `limit`, and how many there are in all."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return list(_kinds(lines[:limit])), len(lines)


def _kinds(lines: list[str]) -> Iterator[DiffLine]:
    head = True
    for line in lines:
        if line.startswith("diff "):
            head = True
        elif line.startswith("@@"):
            head = False
        yield DiffLine(_kind(line, head=head), line)


def _kind(line: str, *, head: bool) -> str:
    # Inside a hunk a removed line may well begin like a head: `--- a comment`.
    if head and line.startswith(_HEADS):
        return "file"
    if line.startswith("@@"):
        return "hunk"
    if not head and line.startswith(("+", "-")):
        return "add" if line[0] == "+" else "del"
    return ""
