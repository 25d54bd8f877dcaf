"""`tiltyard parse`: what a saved output of an agent says, in the one form that all agents are brought to."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tiltyard_runner.agents import AgentResult
    from tiltyard_specs.usage import Usage

CAUTION = (
    "Token totals of different agents are not comparable: they count, cache and prompt differently. "
    "Compare an agent only with itself."
)
_BUCKETS = ("input", "cache_read", "cache_write", "output")
_PARTS = {"cache_write": ("cache_write_1h", "kept for an hour"), "output": ("reasoning", "reasoning")}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""An agent's text must not move the cursor of whoever reads it."""


def parse(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="claude, codex or mini.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Its saved standard output; for mini also its trajectory.")
    ],
    usage_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="mini's trajectory, when FILE is its standard output.")
    ] = None,
    stderr: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its saved standard error, for why it failed.")
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The whole result as one JSON object.")] = False,
) -> None:
    """Read what an agent printed: its answer, tokens, tool calls and error."""
    from tiltyard_runner.agents import read_saved  # noqa: PLC0415
    from tiltyard_specs.redact import Redactor  # noqa: PLC0415

    result = read_saved(agent, file, usage_file=usage_file, stderr=stderr)
    typer.echo(Redactor().text(_as_json(result) if as_json else _as_text(result)))


def _as_json(result: "AgentResult") -> str:
    text = json.dumps(_as_data(result), indent=2, ensure_ascii=False)
    # JSON lets these stand as they are.
    return re.sub(r"[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _as_data(result: "AgentResult") -> dict[str, Any]:
    error = result.error
    return {
        "answer": result.answer,
        "turns": result.turns,
        "tool_calls": [{"name": call.name, "input": call.input} for call in result.tool_calls],
        "usage": _usage(result).model_dump(),
        "model": result.model,
        "cost_usd": result.cost_usd,
        "error": error and {"class": error.kind, "status": error.status, "message": error.message},
        "complete": result.complete,
    }


def _usage(result: "AgentResult") -> "Usage":
    from tiltyard_specs.usage import Usage  # noqa: PLC0415

    return result.usage or Usage()


def _as_text(result: "AgentResult") -> str:
    answer = " none" if result.answer is None else f"\n{_CONTROL.sub('?', result.answer.rstrip())}"
    return "\n".join((*_facts(result), f"answer:{answer}", "", CAUTION))


def _facts(result: "AgentResult") -> Iterator[str]:
    yield f"model: {_known(result.model)}"
    yield f"model calls: {_known(result.turns)}"
    usage = _usage(result).model_dump()
    yield "tokens: " + ", ".join(_bucket(usage, name) for name in _BUCKETS)
    cost = None if result.cost_usd is None else f"${result.cost_usd:.6f}"
    yield f"cost, as the agent tells it: {_known(cost)}"
    names = Counter(call.name for call in result.tool_calls).most_common()
    listed = ", ".join(f"{_known(name)} {number}" for name, number in names)
    yield f"tool calls: {len(result.tool_calls)}" + (f" ({listed})" if names else "")
    if not result.complete:
        yield "complete: no; the output lacks its end"
    if result.error is not None:
        status = "" if result.error.status is None else f" {result.error.status}"
        yield f"error: {result.error.kind}{status}: {_CONTROL.sub('?', result.error.message)}"


def _bucket(usage: dict[str, int | None], name: str) -> str:
    part, label = _PARTS.get(name, ("", ""))
    known = usage.get(part)
    inside = "" if known is None else f" ({known} {label})"
    return f"{name.replace('_', ' ')} {_known(usage[name])}{inside}"


def _known(value: object) -> str:
    return "unknown" if value is None else _CONTROL.sub("?", str(value))
