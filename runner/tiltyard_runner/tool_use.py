"""Finds whether an agent used what an arm brought: a regular expression over its tool calls."""

import json
from collections.abc import Iterable, Iterator

from tiltyard_runner.agents.model import ToolCall
from tiltyard_specs.answer_key import search_all


def used_tool(pattern: str, tool_calls: Iterable[ToolCall]) -> bool:
    """Whether some call matches: by its name, by any text in its input, or by `NAME {input as JSON}`.

    Raises:
        SlowPatternError: The pattern takes too long on what the agent passed to its tools.
    """
    texts = [text for call in tool_calls for text in _call_texts(call)]
    return bool(texts) and search_all([pattern], texts)[0]


def _call_texts(call: ToolCall) -> Iterator[str]:
    yield call.name
    yield from texts_in(call.input)
    try:
        yield f"{call.name} {json.dumps(call.input, ensure_ascii=False)}"
    except (RecursionError, TypeError, ValueError):
        return


def texts_in(value: object) -> Iterator[str]:
    """All texts inside a JSON value; without recursion, since an agent chose the depth."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
