"""What the recordings do not show of the two CLIs' streams: interrupts, several models, further items."""

from collections.abc import Callable
from typing import Any

from tiltyard_runner.agents import AgentResult
from tiltyard_specs.usage import Usage

Parse = Callable[..., AgentResult]
Lines = Callable[..., bytes]


def claude_message(number: int, *blocks: Any, output: int = 1, parent: str | None = None) -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30}
    message = {
        "id": f"msg_{number}",
        "model": "m",
        "usage": {**usage, "output_tokens": output},
        "content": blocks,
    }
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent}


def test_claude_killed_midway_reports_input_once_per_message_and_no_output(
    parse: Parse, lines: Lines
) -> None:
    """The events repeat each message per block, with an output count that is only a placeholder."""
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    stdout = lines(
        {"type": "system", "subtype": "init", "model": "m", "tools": []},
        claude_message(1, {"type": "text", "text": "a"}),
        claude_message(1, use),
        claude_message(2, {"type": "text", "text": "b"}),
    )
    result = parse("claude", stdout + b'{"type":"assistant","mess', exit_code=137)
    assert result.usage == Usage(input=20, cache_read=40, cache_write=60, output=None)
    assert (result.turns, len(result.tool_calls), result.complete, result.answer) == (2, 1, False, None)
    assert result.error is not None
    assert (result.error.kind, result.error.message) == (
        "killed",
        "The agent's output breaks off by signal 9",
    )


def test_claude_interrupted_by_sigint_is_no_answer_though_it_ends_with_exit_code_0(
    parse: Parse, lines: Lines
) -> None:
    """It flushes a result whose usage is zero; what its messages said is nearer to the truth."""
    end = {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "terminal_reason": "aborted_streaming",
        "num_turns": 2,
        "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "modelUsage": {},
    }
    stdout = lines(
        {"type": "system", "subtype": "init"}, claude_message(1, {"type": "text", "text": "par"}), end
    )
    stopped, killed = parse("claude", stdout, timed_out=True), parse("claude", stdout)
    assert stopped.error is not None
    assert killed.error is not None
    assert (stopped.error.kind, killed.error.kind) == ("timeout", "killed")
    assert (stopped.complete, stopped.turns, stopped.answer) == (False, 1, None)
    assert stopped.usage == Usage(input=10, cache_read=20, cache_write=30, output=None)


def test_claude_split_of_cache_writes_is_taken_only_where_it_adds_up(parse: Parse, lines: Lines) -> None:
    def end(long: int) -> bytes:
        usage = {
            "cache_creation_input_tokens": 30,
            "output_tokens": 5,
            "output_tokens_details": {"thinking_tokens": 2},
        }
        split = {"cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": long}}
        models = {
            "m": {
                "inputTokens": 1,
                "outputTokens": 5,
                "cacheCreationInputTokens": 30,
                "cacheReadInputTokens": 0,
            }
        }
        result = {"type": "result", "subtype": "success", "result": "x", "usage": {**usage, **split}}
        return lines({**result, "modelUsage": models})

    right, wrong = parse("claude", end(20)).usage, parse("claude", end(0)).usage
    assert right == Usage(input=1, cache_read=0, cache_write=30, output=5, reasoning=2, cache_write_1h=20)
    assert wrong == Usage(input=1, cache_read=0, cache_write=30, output=5, reasoning=2, cache_write_1h=None)


def test_claude_sums_the_usage_of_all_models(parse: Parse, lines: Lines) -> None:
    models = {name: {"inputTokens": 1, "outputTokens": 2} for name in ("big", "small")}
    result = parse(
        "claude", lines({"type": "result", "subtype": "success", "result": "x", "modelUsage": models})
    )
    assert result.usage == Usage(input=2, output=4)
    assert result.model is None  # no message told which one answered


def test_codex_takes_the_last_message_and_every_kind_of_call(parse: Parse, lines: Lines) -> None:
    items = [
        {"id": "1", "type": "agent_message", "text": "I will look."},
        {"id": "2", "type": "reasoning", "text": "hm"},
        {
            "id": "3",
            "type": "file_change",
            "changes": [{"path": "a.py", "kind": "update"}],
            "status": "completed",
        },
        {"id": "4", "type": "web_search", "query": "tilt"},
        {"id": "5", "type": "todo_list", "items": []},
        {"id": "6", "type": "agent_message", "text": "Done."},
    ]
    started = {"type": "item.started", "item": {"id": "3", "type": "file_change", "changes": []}}
    usage = {"input_tokens": 10, "cached_input_tokens": 3, "cache_write_input_tokens": 2, "output_tokens": 4}
    stdout = lines(
        started,
        *({"type": "item.completed", "item": item} for item in items),
        {"type": "turn.completed", "usage": usage},
    )
    result = parse("codex", stdout)
    assert result.answer == "Done."
    assert [(call.name, call.input) for call in result.tool_calls] == [
        ("file_change", {"changes": [{"path": "a.py", "kind": "update"}]}),
        ("web_search", {"query": "tilt"}),
    ]
    assert result.usage == Usage(input=5, cache_read=3, cache_write=2, output=4)


def test_codex_with_a_full_context_met_a_limit(parse: Parse, lines: Lines) -> None:
    message = "Codex ran out of room in the model's context window."
    error = parse("codex", lines({"type": "turn.failed", "error": {"message": message}}), exit_code=1).error
    assert error is not None
    assert (error.kind, error.status) == ("limit", None)


def test_codex_ended_while_it_reconnected_failed_by_the_provider(parse: Parse, lines: Lines) -> None:
    retry = {"type": "error", "message": "Reconnecting... 1/2 (unexpected status 503 Service Unavailable: x)"}
    start = {"type": "turn.started"}
    error = parse("codex", lines(start, retry), exit_code=None, timed_out=True).error
    assert error is not None
    assert (error.kind, error.status) == ("api_error", 503)
    work = {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "on it"}}
    later = parse("codex", lines(start, retry, work), exit_code=None, timed_out=True).error
    assert later is not None
    assert later.kind == "timeout"


def test_a_cached_part_larger_than_its_whole_makes_the_input_unknown(parse: Parse, lines: Lines) -> None:
    """As at the meter: a number that cannot be is not put right, and not taken as 0."""
    usage = {"input_tokens": 5, "cached_input_tokens": 9, "output_tokens": 1}
    result = parse("codex", lines({"type": "turn.completed", "usage": usage}))

    assert result.usage is not None
    assert (result.usage.input, result.usage.cache_read, result.usage.total) == (None, 9, None)
