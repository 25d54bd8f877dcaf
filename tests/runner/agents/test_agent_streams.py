"""Output that no honest agent prints: cut, huge, binary, misshapen. Reading it never fails and never lies."""

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiltyard_runner.agents import AgentOutput, AgentResult, adapter_for
from tiltyard_runner.agents import streams as stream_reader

SAMPLES = Path(__file__).parents[1] / "samples"
Parse = Callable[..., AgentResult]
Lines = Callable[..., bytes]


def recording(kind: str, case: str = "tool") -> bytes:
    return (SAMPLES / kind / case / "stdout").read_bytes()


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_a_stream_cut_at_any_byte_is_read_and_never_called_complete(kind: str, parse: Parse) -> None:
    whole = recording(kind)
    last_line = whole.rstrip().rfind(b"\n") + 1
    for cut in [*range(0, last_line, 97), last_line, len(whole) - 3]:
        result = parse(kind, whole[:cut], exit_code=-9)
        assert (result.complete, result.answer) == (False, None)
        assert result.error is not None


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_garbage_between_the_lines_changes_nothing(kind: str, parse: Parse) -> None:
    garbage = [
        b"",
        b"\xff\xfe\x00",
        b"{",
        b"[1]",
        b"null",
        b'{"type":7}',
        b"{" * 100_000,
        b'"a"',
        b'{"a":' * 20_000,
    ]
    whole = recording(kind).splitlines()
    mixed = b"\n".join(part for line in whole for part in (*garbage, line)) + b"\n"
    assert parse(kind, mixed) == parse(kind, recording(kind))


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_misshapen_values_anywhere_are_read_without_an_error(kind: str, parse: Parse, lines: Lines) -> None:
    """Every value of a real recording is replaced in turn by values of the wrong shape."""
    rng = random.Random(7)  # noqa: S311 - a fixed sequence for a test
    wrong: list[object] = [None, True, -1, 1e999, 10**400, "x", [], [[]], {}, {"a": None}, "\ud800"]
    whole = [json.loads(line) for line in recording(kind).splitlines()]
    for _ in range(300):
        events = json.loads(json.dumps(whole))
        for _ in range(3):
            _replace_somewhere(rng, events, copy.deepcopy(rng.choice(wrong)))
        result = parse(kind, lines(*events))
        json.dumps(result.answer).encode()
        assert result.usage is None or all(value is None or value >= 0 for _, value in result.usage)


def _replace_somewhere(rng: random.Random, value: Any, replacement: object) -> None:
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = rng.choice(keys)
    if isinstance(value[key], (dict, list)) and value[key] and rng.random() < 0.8:
        _replace_somewhere(rng, value[key], replacement)
    else:
        value[key] = replacement


def test_lone_surrogates_become_writable_text(parse: Parse, lines: Lines) -> None:
    item = {"id": "1", "type": "agent_message", "text": "a\ud800b\U0001f600"}
    call = {
        "id": "2",
        "type": "mcp_tool_call",
        "server": "s",
        "tool": "t",
        "arguments": {"k\udc00": ["\ud800"]},
    }
    done = [{"type": "item.completed", "item": part} for part in (item, call)]
    result = parse("codex", lines(*done, {"type": "turn.completed", "usage": {}}))
    assert result.answer is not None
    assert result.answer.encode().decode() == "a\ufffdb\U0001f600"
    assert result.tool_calls[0].input == {"k\ufffd": ["\ufffd"]}


def test_a_line_that_is_too_long_is_skipped_and_the_next_one_read(
    parse: Parse, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_reader, "MAX_LINE_BYTES", 2000)
    huge = lines({"type": "item.completed", "item": {"type": "agent_message", "text": "x" * 10_000}})
    small = lines({"type": "item.completed", "item": {"type": "agent_message", "text": "small"}})
    end = lines({"type": "turn.completed", "usage": {}})
    assert parse("codex", small + huge + end).answer == "small"


def test_tool_calls_are_counted_up_to_a_bound(parse: Parse, lines: Lines) -> None:
    bound = 10_000
    call = {"type": "item.completed", "item": {"type": "web_search", "query": "q"}}
    result = parse("codex", lines(*[call] * (bound + 5), {"type": "turn.completed", "usage": {}}))
    assert len(result.tool_calls) == bound
    assert result.complete


@pytest.mark.parametrize(
    ("stdout", "exit_code", "kind"),
    [
        (b"", 1, "not_started"),
        (b"", 0, "no_answer"),
        (b"some words\n", 0, "format"),
        (b"some words\n", 2, "crash"),
        (b"some words\n", 139, "killed"),
        (b"some words\n", None, "killed"),
    ],
)
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_an_output_without_a_result_is_classed_by_how_the_process_ended(
    agent: str, stdout: bytes, exit_code: int | None, kind: str, parse: Parse
) -> None:
    error = parse(agent, stdout, exit_code=exit_code, stderr=b"why \xff\n").error
    in_time = parse(agent, stdout, exit_code=exit_code, timed_out=True).error
    assert error is not None
    assert error.kind == kind
    assert in_time is not None
    assert in_time.kind == "timeout"


def test_missing_stream_files_are_an_output_that_never_began(tmp_path: Path) -> None:
    result = adapter_for("claude").parse(AgentOutput(tmp_path / "no.out", tmp_path / "no.err", 1))
    assert result.error is not None
    assert result.error.kind == "not_started"


def test_text_answer_is_the_output_stripped(parse: Parse) -> None:
    result = parse("text", b"\n  forty-two \xff\n\n")
    assert (result.answer, result.complete, result.usage, result.turns) == (
        "forty-two \ufffd",
        True,
        None,
        None,
    )


def test_text_that_is_blank_or_failed_has_no_answer(parse: Parse) -> None:
    blank, failed = parse("text", b" \n"), parse("text", b"half an ans", exit_code=3, stderr=b"boom")
    assert blank.error is not None
    assert (blank.answer, blank.error.kind) == (None, "no_answer")
    assert failed.error is not None
    assert (failed.answer, failed.error.kind) == (None, "crash")
    assert failed.error.message.endswith("boom")
    assert "ended with exit code 3, not 0, so its output is no answer: " in failed.error.message


def test_text_answer_of_a_flood_is_its_end(parse: Parse) -> None:
    answer = parse("text", b"x" * 3_000_000 + b" the end").answer
    assert answer is not None
    assert len(answer) == 1024 * 1024
    assert answer.endswith(" the end")
