"""Each recording of the real codex CLI, read and compared with what was worked out from it by hand.

The scripted API behind them answered with 1000 in (400 of them cached), 50 out (10 of them reasoning) for the
first call and 1100 (900), 30 (5) for the second.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tiltyard_runner.agents import AgentOutput, AgentResult, adapter_for
from tiltyard_specs.usage import Usage

SAMPLES = Path(__file__).parents[1] / "samples" / "codex"
ONE_CALL = Usage(input=600, cache_read=400, cache_write=0, output=50, reasoning=10)
TWO_CALLS = Usage(input=800, cache_read=1300, cache_write=0, output=80, reasoning=15)


@dataclass(frozen=True)
class Expected:
    answer: str | None = "FINAL-ANSWER: 42"
    tools: tuple[str, ...] = ()
    usage: Usage | None = None
    error: tuple[str, int | None] | None = None
    complete: bool = True


PLAIN = Expected(usage=ONE_CALL)
TOOL = Expected(tools=("command_execution",), usage=TWO_CALLS)


def failed(
    kind: str, status: int | None = None, *, complete: bool = False, usage: Usage | None = None
) -> Expected:
    return Expected(answer=None, usage=usage, error=(kind, status), complete=complete)


EXPECTED = {
    "analytics-off": PLAIN,
    "analytics-on": PLAIN,
    "cfg-openai-base-url": PLAIN,  # four reconnections before it went well
    "dockerish-danger": TOOL,
    "dockerish-landlock": Expected(usage=TWO_CALLS),  # its sandbox failed and the stream shows no call
    "dockerish-wsw": TOOL,
    "empty": failed("no_answer", complete=True, usage=ONE_CALL),
    "err401": failed("api_error", 401, complete=True),  # a failed turn has no usage
    "err429": failed("api_error", 429, complete=True),
    "flags-only": TOOL,
    "hang": failed("api_error", complete=True),
    "hang-int": failed("crash"),  # SIGINT: exit code 1 and not a word
    "home-unwritable": failed("not_started"),
    "mcp": Expected(tools=("mcp__spike__spike_echo",), usage=TWO_CALLS),
    "mcp-broken": TOOL,
    "mcp-flag": TOOL,
    "nogit": failed("not_started"),
    "plain": PLAIN,
    "stdin-closed": TOOL,
    "stdin-pipe-open": failed("killed"),
    "tool": TOOL,
    "tool-ro": TOOL,
    "tool-wsw": TOOL,
    "wire-chat": failed("not_started"),
}


def read(case: str, *, timed_out: bool = False) -> AgentResult:
    folder = SAMPLES / case
    meta = json.loads((folder / "meta.json").read_text())
    output = AgentOutput(folder / "stdout", folder / "stderr", meta["rc"], timed_out=timed_out)
    return adapter_for("codex").parse(output)


def test_every_recording_has_an_expectation() -> None:
    assert {folder.name for folder in SAMPLES.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_recording_is_read_as_worked_out_by_hand(case: str) -> None:
    expected, result = EXPECTED[case], read(case)
    assert result.answer == expected.answer
    assert tuple(call.name for call in result.tool_calls) == expected.tools
    assert result.usage == expected.usage
    assert (result.error and (result.error.kind, result.error.status)) == expected.error
    assert result.complete is expected.complete


def test_what_codex_does_not_say_stays_unknown() -> None:
    result = read("tool")
    assert (result.turns, result.model, result.cost_usd, result.version) == (None, None, None, None)


def test_tool_calls_carry_their_input() -> None:
    assert [call.input for call in read("tool").tool_calls] == [
        {"command": "/bin/bash -lc 'echo spike-tool-ok > made-by-agent.txt; ls'"}
    ]
    assert [call.input for call in read("mcp").tool_calls] == [{"text": "hello-mcp"}]


def test_an_interrupted_run_is_a_timeout_only_when_its_time_was_up() -> None:
    error = read("hang-int", timed_out=True).error
    assert error is not None
    assert error.kind == "timeout"


def test_a_start_that_fails_says_what_codex_said() -> None:
    error = read("nogit").error
    assert error is not None
    assert error.message.endswith(
        "Not inside a trusted directory and --skip-git-repo-check was not specified."
    )


def test_session_joins_the_run_to_the_meter() -> None:
    assert read("plain").session == "01a22c4f-c81f-78a1-b6be-04fa1cbc11d0"
