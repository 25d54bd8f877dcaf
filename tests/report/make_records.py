"""Hand-made records for the report's tests: every key that a run.json has, with telling values."""

from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]


def record(
    question: str, arm: str, agent: str, rep: int, tokens: int | None = 20_000, **changes: Any
) -> Record:
    """One run.json; `tokens` is split over the buckets, None leaves the usage unknown."""
    usage = None if tokens is None else usage_of(tokens)
    base: Record = {
        "schema_version": 1,
        "run_id": f"{question}-{arm}-{agent}-{rep}",
        "trial": "docs-layer",
        "capability": None,
        "question": question,
        "arm": arm,
        "agent": agent,
        "rep": rep,
        "attempt": 1,
        "outcome": "passed",
        "reason": None,
        "answer": "Option and Argument",
        "score": {"correct": True, "recall": 1.0, "missing": [], "forbidden": []},
        "verify": None,
        "usage": usage,
        "metered": usage and {"usage": usage, "cost_usd": tokens and tokens * 2e-6, "calls": 4},
        "reported": {"usage": None, "cost_usd": None},
        "delivered": True,
        "tool_calls": [{"name": "Bash", "input": {"command": "ls"}}],
        "turns": 4,
        "seconds": 30.0,
        "started_at": "2025-06-01T10:00:00Z",
        "node": "node-1",
        "images": {
            layer: {"id": f"sha256:{name}", "tag": None, "key": None}
            for layer, name in (("base", "b"), ("agent", agent), ("arm", arm))
        },
        "versions": {"agent": "1.0.0", "tiltyard": "0.1.0"},
        "position": rep,
        "block": rep,
        "model": "gpt-a",
        "kind": agent,
        "used_tool": None,
        "tampered": [],
        "warnings": [],
    }
    return base | changes


def cut(record: Record, calls: int, charged_usd: float | None) -> Record:
    """The record of a run of which some calls have no full usage: the meter knows only a part."""
    metered = record["metered"] | {"cost_usd": None, "incomplete": calls, "charged_usd": charged_usd}
    return record | {"usage": None, "metered": metered | {"charged_tokens": 90_000}}


def usage_of(tokens: int) -> Record:
    """A canonical usage that sums to `tokens`."""
    return {
        "input": tokens // 4,
        "cache_read": tokens // 2,
        "cache_write": 0,
        "output": tokens - tokens // 4 - tokens // 2,
        "reasoning": None,
        "cache_write_1h": None,
    }


def series(question: str, arm: str, agent: str, tokens: Iterable[int | None], **changes: Any) -> list[Record]:
    """One record per value, with reps from 1."""
    return [record(question, arm, agent, rep, value, **changes) for rep, value in enumerate(tokens, 1)]
