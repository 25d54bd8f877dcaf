"""Tool calls as the record holds them: all of them, but bounded, because an agent chose their inputs."""

import json
from collections.abc import Iterable

from tiltyard_runner.agents import ToolCall as AgentToolCall
from tiltyard_runner.cutting import Mask, beginning
from tiltyard_runner.masking import Masking
from tiltyard_specs.record import ToolCall

MAX_DEPTH = 40
"""Levels of a JSON input; what is deeper is left out."""
MAX_INPUT = 64 * 1024
"""Characters of one input; the rest is cut."""
MAX_TOTAL = 8 * 1024 * 1024
"""Characters of all inputs of a run together; what comes later keeps its name alone."""


def recorded_calls(calls: Iterable[AgentToolCall], secrets: Iterable[str] = ()) -> tuple[ToolCall, ...]:
    """The calls in order, each with its input or a note in its place.

    Args:
        calls: What the agent did.
        secrets: The keys in use: a bound cuts none of them in two.
    """
    mask = Masking(secrets).text
    kept, total = [], 0
    for call in calls:
        value, size = _bounded(call.input, mask)
        total += size
        if total > MAX_TOTAL:
            value = f"[left out: {size} characters]"
        kept.append(ToolCall(name=call.name, input=value))
    return tuple(kept)


def _bounded(value: object, mask: Mask) -> tuple[dict[str, object] | list[object] | str, int]:
    if _depth(value) > MAX_DEPTH:
        return f"[left out: more than {MAX_DEPTH} levels deep]", 0
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_INPUT:
        return f"{beginning(text, MAX_INPUT, mask)} [cut: {len(text)} characters]", MAX_INPUT
    return value if isinstance(value, dict | list) else text, len(text)


def _depth(value: object) -> int:
    """Levels of lists and objects, counted no further than needed and without recursion."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        level, depth = inner, depth + 1
    return depth
