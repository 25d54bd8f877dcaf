"""Reads the JSON lines of `codex exec --json`.

Its traps: warnings come as items of type error; input includes the cached part; a failed turn has no usage;
one turn is the whole run, so model calls cannot be counted; the model's name is nowhere; exit code 0 does
not mean an answer.
"""

from dataclasses import dataclass, field

from tiltyard_runner.agents.model import AgentError, AgentOutput, AgentResult, ToolCall
from tiltyard_runner.agents.outcome import broken_off, error, http_status, no_answer
from tiltyard_runner.agents.streams import MAX_TOOL_CALLS, Event, count, events, mapping, text
from tiltyard_specs.usage import Usage, total_usage

CONTEXT_FULL = "context window"
"""In a turn's failure: the agent's own limit, not the provider's fault."""


@dataclass(slots=True)
class _Stream:
    """What has been seen so far of one stream."""

    session: str | None = None
    answer: str | None = None
    usages: list[Usage] = field(default_factory=list)
    failure: str | None = None
    ended: bool = False
    last_error: str | None = None
    tool_calls: dict[str, ToolCall] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        match event.get("type"):
            case "thread.started":
                self.session = text(event.get("thread_id"))
            case "item.started" | "item.updated" | "item.completed":
                self._take_item(mapping(event.get("item")))
            case "turn.completed":
                self.ended = True
                self.usages.append(_usage(mapping(event.get("usage"))))
            case "turn.failed":
                self.ended = True
                self.failure = text(mapping(event.get("error")).get("message")) or "The turn failed."
            case "error":
                self.last_error = text(event.get("message"))

    def _take_item(self, item: Event) -> None:
        self.last_error = None  # work went on after it
        if item.get("type") == "agent_message":
            self.answer = text(item.get("text"))
            return
        call = _tool_call(item)
        if call is not None and len(self.tool_calls) < MAX_TOOL_CALLS:
            self.tool_calls[text(item.get("id")) or f"#{len(self.tool_calls)}"] = call


def parse_stream(output: AgentOutput) -> AgentResult:
    """The result of a run, from a whole stream or from what a kill left of one."""
    stream = _Stream()
    for event in events(output.stdout):
        stream.take(event)
    answer, failure = _end(stream, output)
    return AgentResult(
        answer=answer,
        tool_calls=tuple(stream.tool_calls.values()),
        usage=total_usage(stream.usages),
        error=failure,
        complete=stream.ended,
        session=stream.session,
    )


def _end(stream: _Stream, output: AgentOutput) -> tuple[str | None, AgentError | None]:
    if stream.failure is not None:
        return None, _failed(stream.failure)
    if not stream.ended:
        return None, _still_retrying(stream.last_error) or broken_off(output)
    if stream.answer is None or not stream.answer.strip():
        return None, no_answer()
    return stream.answer, None


def _failed(message: str) -> AgentError:
    if CONTEXT_FULL in message.lower():
        return error("limit", message)
    return error("api_error", message, http_status(message))


def _still_retrying(message: str | None) -> AgentError | None:
    """A run that was ended while it retried failed by the provider, not by its own slowness."""
    if message is None:
        return None
    return error("api_error", message, http_status(message))


def _tool_call(item: Event) -> ToolCall | None:
    match item.get("type"):
        case "command_execution":
            return ToolCall("command_execution", {"command": item.get("command")})
        case "mcp_tool_call":
            return ToolCall(f"mcp__{item.get('server')}__{item.get('tool')}", item.get("arguments"))
        case "file_change":
            return ToolCall("file_change", {"changes": item.get("changes")})
        case "web_search":
            return ToolCall("web_search", {"query": item.get("query")})
        case _:
            return None


def _usage(usage: Event) -> Usage:
    """Codex counts cached tokens inside input and reasoning inside output."""
    whole, read, written = (
        count(usage.get(key)) for key in ("input_tokens", "cached_input_tokens", "cache_write_input_tokens")
    )
    return Usage(
        input=None if whole is None else count(whole - (read or 0) - (written or 0)),
        cache_read=read,
        cache_write=written,
        output=count(usage.get("output_tokens")),
        reasoning=count(usage.get("reasoning_output_tokens")),
    )
