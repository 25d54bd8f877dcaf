"""The metered model calls of a run, read from calls.jsonl leniently: a damaged line is named, not fatal."""

import json
from dataclasses import dataclass

from tiltyard_report.site.index import number

_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Call:
    """One model call; None is unknown."""

    index: str
    model: str
    role: str
    """The model asked for."""
    status: str
    outcome: str
    message: str
    input: float | None
    cache_read: float | None
    cache_write: float | None
    output: float | None
    usd: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a run."""

    calls: tuple[Call, ...]
    left_out: int
    damaged: int
    """Lines that cannot be read."""


def read_calls(text: str) -> Calls:
    """The calls of a calls.jsonl."""
    lines = [line for line in text.split("\n") if line.strip()]
    calls, damaged = [], 0
    for line in lines[:_LIMIT]:
        call = _call(line)
        if call is None:
            damaged += 1
        else:
            calls.append(call)
    return Calls(tuple(calls), max(0, len(lines) - _LIMIT), damaged)


def _call(line: str) -> Call | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    usage = data.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Call(
        index=_text(data.get("index")),
        model=_text(data.get("model")),
        role=_text(data.get("role")),
        status=_text(data.get("status")),
        outcome=_text(data.get("outcome")),
        message=_text(data.get("message")),
        input=number(counts.get("input")),
        cache_read=number(counts.get("cache_read")),
        cache_write=number(counts.get("cache_write")),
        output=number(counts.get("output")),
        usd=number(data.get("cost_usd")),
        seconds=number(data.get("seconds")),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)[:300]
