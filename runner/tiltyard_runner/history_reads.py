"""Finds tool calls that read a repository's history, where an answer may lie.

A list for people: with `history: none` there is nothing to be found, with `full` there may be.
"""

import re
from collections.abc import Iterable

from tiltyard_runner.agents.model import ToolCall
from tiltyard_runner.cutting import Mask, beginning
from tiltyard_runner.tool_use import texts_in

MOST = 20
"""Commands that are kept of a run."""
_LONGEST = 200
_READS = (
    "log", "show", "reflog", "blame", "annotate", "cat-file", "rev-list", "fsck", "bundle", "whatchanged",
    "shortlog", "format-patch", "verify-pack", "unpack-objects", "archive",
)  # fmt: skip
# Bounded between the words: an agent chose the text.
_PATTERN = re.compile(
    rf"\bgit(?:\s{{1,9}}-[Cc]\s{{1,9}}\S{{1,99}}|\s{{1,9}}-\S{{1,99}}){{0,6}}\s{{1,9}}(?:{'|'.join(_READS)})\b[^\n;|&]*"
    r"|\.git/(?:objects|logs|packed-refs)\b[^\s'\";|&]*"
)


def history_reads(tool_calls: Iterable[ToolCall], mask: Mask) -> tuple[str, ...]:
    """The commands and paths, each once, in their order; at most `MOST`.

    Args:
        tool_calls: Of the agent.
        mask: Masks keys, of which no half may be left by cutting.
    """
    found: dict[str, None] = {}
    for call in tool_calls:
        for text in texts_in(call.input):
            for match in _PATTERN.finditer(text):
                found[beginning(" ".join(match[0].split()), _LONGEST, mask)] = None
                if len(found) == MOST:
                    return tuple(found)
    return tuple(found)
