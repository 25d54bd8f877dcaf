"""Reads Claude Code's stream-json output.

Its traps: an API error comes as `subtype: success` with the error text as the result; the same message and
usage is repeated for each content block, with an output count that is a placeholder; `usage` leaves out
calls that `modelUsage` holds; an interrupted run ends with exit code 0; `num_turns` is not the number of
model calls.
"""

from dataclasses import dataclass, field

from tiltyard_runner.agents.model import AgentError, AgentOutput, AgentResult, ToolCall
from tiltyard_runner.agents.outcome import broken_off, error, http_status, interrupted, no_answer
from tiltyard_runner.agents.streams import MAX_TOOL_CALLS, Event, count, events, items, mapping, number, text
from tiltyard_specs.usage import Usage, total_usage

SYNTHETIC = "<synthetic>"
"""The model of a message that the CLI wrote itself, about an API error."""
LIMIT_SUBTYPES = frozenset({"error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries"})


@dataclass(slots=True)
class _Stream:
    """What has been seen so far of one stream."""

    init: Event = field(default_factory=dict)
    result: Event | None = None
    usages: dict[str, Usage] = field(default_factory=dict)
    """By message id: the last event of a message counts, the earlier ones repeat it."""
    model: str | None = None
    tool_calls: dict[str, ToolCall] = field(default_factory=dict)
    retry: Event = field(default_factory=dict)

    def take(self, event: Event) -> None:
        match event.get("type"):
            case "system" if event.get("subtype") == "init":
                self.init = event
            case "system" if event.get("subtype") == "api_retry":
                self.retry = event
            case "assistant":
                self._take_message(mapping(event.get("message")))
            case "result":
                self.result = event

    def _take_message(self, message: Event) -> None:
        name = text(message.get("id"))
        if name is None or message.get("model") == SYNTHETIC:
            return
        self.retry = {}
        self.model = self.model or text(message.get("model"))
        self.usages[name] = _snapshot(mapping(message.get("usage")))
        for block in items(message.get("content")):
            self._take_block(mapping(block))

    def _take_block(self, block: Event) -> None:
        tool = text(block.get("name"))
        if block.get("type") != "tool_use" or tool is None or len(self.tool_calls) >= MAX_TOOL_CALLS:
            return
        key = text(block.get("id")) or f"#{len(self.tool_calls)}"
        self.tool_calls[key] = ToolCall(tool, block.get("input"))


def parse_stream(output: AgentOutput) -> AgentResult:
    """The result of a run, from a whole stream or from what a kill left of one."""
    stream = _Stream()
    for event in events(output.stdout):
        stream.take(event)
    answer, failure = _end(stream, output)
    return AgentResult(
        answer=answer,
        turns=_turns(stream),
        tool_calls=tuple(stream.tool_calls.values()),
        usage=_usage(stream),
        model=stream.model or text(stream.init.get("model")) or _only_model(stream.result),
        cost_usd=number(mapping(stream.result).get("total_cost_usd")),
        error=failure,
        complete=stream.result is not None and not _interrupted(stream.result),
        offered=_offered(stream.init),
        version=text(stream.init.get("claude_code_version")),
        session=text(stream.init.get("session_id")) or text(mapping(stream.result).get("session_id")),
    )


def _end(stream: _Stream, output: AgentOutput) -> tuple[str | None, AgentError | None]:
    """The answer, or why there is none."""
    if stream.result is None:
        return None, _still_retrying(stream.retry) or broken_off(output)
    answer = text(stream.result.get("result")) or ""
    if stream.result.get("is_error") is True or stream.result.get("subtype", "success") != "success":
        return None, _reported_error(stream.result, answer, output)
    return (answer, None) if answer.strip() else (None, no_answer())


def _still_retrying(retry: Event) -> AgentError | None:
    """A run that was ended while it retried failed by the provider, not by its own slowness."""
    if not retry:
        return None
    reason = text(retry.get("error")) or "unknown error"
    return error(
        "api_error", f"Still retrying after an API error when it was ended: {reason}", _status(retry)
    )


def _reported_error(result: Event, answer: str, output: AgentOutput) -> AgentError:
    said = (
        "; ".join(filter(None, map(text, items(result.get("errors")))))
        or answer
        or str(result.get("subtype"))
    )
    if _interrupted(result):
        return interrupted(output)
    if text(result.get("subtype")) in LIMIT_SUBTYPES:
        return error("limit", said)
    status = _status(result)
    if status is not None or "API Error" in said:
        return error("api_error", said, status if status is not None else http_status(said))
    return error("crash", said)


def _interrupted(result: Event) -> bool:
    return (text(result.get("terminal_reason")) or "").startswith("aborted")


def _status(event: Event) -> int | None:
    return count(event.get("api_error_status")) or count(event.get("error_status"))


def _turns(stream: _Stream) -> int | None:
    """Distinct messages; the CLI's own count only where the stream shows no message and the run went well."""
    if stream.usages or stream.result is None:
        return len(stream.usages) if stream.init else None
    return 0 if stream.result.get("is_error") is True else count(stream.result.get("num_turns"))


def _only_model(result: Event | None) -> str | None:
    """The model of an output without messages (`--output-format json`), where it used just one."""
    models = list(mapping(mapping(result).get("modelUsage")))
    return models[0] if len(models) == 1 else None


def _usage(stream: _Stream) -> Usage | None:
    partial = total_usage(list(stream.usages.values()))
    if stream.result is None:
        return partial
    models = mapping(stream.result.get("modelUsage"))
    if models:
        return _split(_sum_models(models), mapping(stream.result.get("usage")))
    # An interrupted run reports zeros; what its messages said is nearer to the truth.
    return partial if partial is not None else _whole(mapping(stream.result.get("usage")))


def _sum_models(models: Event) -> Usage:
    total = Usage()
    for value in models.values():
        model = mapping(value)
        total += Usage(
            input=count(model.get("inputTokens")),
            cache_read=count(model.get("cacheReadInputTokens")),
            cache_write=count(model.get("cacheCreationInputTokens")),
            output=count(model.get("outputTokens")),
            reasoning=count(model.get("thinkingTokens")),
        )
    return total


def _split(total: Usage, usage: Event) -> Usage:
    """Add what only `usage` tells apart, where it speaks of the same tokens as the total."""
    whole = _whole(usage)
    update: dict[str, int | None] = {}
    if total.reasoning is None and whole.output == total.output:
        update["reasoning"] = whole.reasoning
    if whole.cache_write == total.cache_write:
        update["cache_write_1h"] = whole.cache_write_1h
    return total.model_copy(update=update)


def _whole(usage: Event) -> Usage:
    details = mapping(usage.get("output_tokens_details"))
    written = count(usage.get("cache_creation_input_tokens"))
    parts = mapping(usage.get("cache_creation"))
    short, long = (count(parts.get(f"ephemeral_{kind}_input_tokens")) for kind in ("5m", "1h"))
    known = short is not None and long is not None and short + long == written
    return Usage(
        input=count(usage.get("input_tokens")),
        cache_read=count(usage.get("cache_read_input_tokens")),
        cache_write=written,
        output=count(usage.get("output_tokens")),
        reasoning=count(details.get("thinking_tokens")),
        cache_write_1h=long if known else None,
    )


def _snapshot(usage: Event) -> Usage:
    """The usage of one message event: taken when the message began, so its output count says nothing."""
    return Usage(
        input=count(usage.get("input_tokens")),
        cache_read=count(usage.get("cache_read_input_tokens")),
        cache_write=count(usage.get("cache_creation_input_tokens")),
    )


def _offered(init: Event) -> tuple[str, ...]:
    servers = (mapping(server) for server in items(init.get("mcp_servers")))
    connected = (text(server.get("name")) for server in servers if server.get("status") == "connected")
    return (
        *(name for name in map(text, items(init.get("tools"))) if name),
        *(f"mcp:{name}" for name in connected if name),
        *(f"skill:{name}" for name in map(text, items(init.get("skills"))) if name),
    )
