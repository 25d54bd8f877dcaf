"""Records as a table: one row a run, flat typed columns; what reports of any size are made from.

Long texts and the inputs of tool calls are left out: they stay in the records. A later version of Tiltyard
may add columns at the end; a reader takes a missing column for unknown.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["label", "text", "whole", "number", "flag", "texts", "json"]
"""label: a text of few different values; texts: a list; json: an object as text with sorted keys."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column, and where in the record its values stand."""

    name: str
    kind: Kind
    path: tuple[str, ...]


def _columns(kind: Kind, *names: str) -> list[Column]:
    return [Column(name.replace(".", "_"), kind, tuple(name.split("."))) for name in names]


def _spend(name: str) -> list[Column]:
    return [
        *_columns("whole", *(f"{name}.usage.{bucket}" for bucket in _BUCKETS)),
        *_columns("number", f"{name}.cost_usd", f"{name}.charged_usd", f"{name}.held_seconds"),
        *_columns("whole", f"{name}.calls", f"{name}.incomplete", f"{name}.charged_tokens"),
    ]


_BUCKETS = ("input", "cache_read", "cache_write", "output", "reasoning", "cache_write_1h")
COLUMNS: tuple[Column, ...] = (
    *_columns("text", "run_id"),
    *_columns("label", "trial", "capability", "question", "arm", "agent"),
    *_columns("whole", "rep", "attempt"),
    *_columns("label", "outcome", "reason"),
    *_columns("flag", "score.correct"),
    *_columns("number", "score.recall"),
    *_columns("texts", "score.missing", "score.forbidden"),
    *_columns("flag", "verify.passed", "verify.timed_out"),
    *_columns("whole", "verify.exit_code"),
    *_columns("number", "verify.seconds"),
    *_columns("json", "claim"),
    *_columns("whole", *(f"usage.{bucket}" for bucket in _BUCKETS)),
    *_spend("metered"),
    *_spend("reported"),
    *_columns("flag", "delivered.ok"),
    *_columns("texts", "delivered.missing"),
    *_columns("whole", "turns"),
    *_columns("number", "seconds"),
    *_columns("text", "started_at"),
    *_columns("label", "node"),
    *_columns("json", "images", "versions"),
    *_columns("whole", "position"),
    *_columns("text", "block"),
    *_columns("label", "model", "effort", "kind"),
    *_columns("flag", "edits", "used_tool"),
    *_columns("whole", "exit_code"),
    *_columns("flag", "timed_out"),
    *_columns("texts", "tampered"),
    *_columns("whole", "patch.bytes"),
    *_columns("json", "policy"),
    *_columns("label", "agent_error.class"),
    *_columns("whole", "agent_error.status"),
    *_columns("json", "difference"),
    *_columns("texts", "warnings"),
    Column("tools", "texts", ("tool_calls",)),
    *_columns("flag", "metered.imputed"),
    *_columns("number", "metered.least_usd"),
)
"""In the order of the table. `tools` holds the names of the tool calls, in their order."""


def cells(record: Mapping[str, Any]) -> list[Any]:
    """A row: the values of a record, as run.json holds it, in the order of `COLUMNS`."""
    return [_cell(column, record) for column in COLUMNS]


def _cell(column: Column, record: Mapping[str, Any]) -> Any:
    value: Any = record
    for name in column.path:
        value = value.get(name)
        if value is None:
            return None
    if column.kind == "json":
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    if column.name == "tools":
        return [call["name"] for call in value]
    return value
