"""Each recording of the real claude CLI, read and compared with what was worked out from it by hand.

The scripted API behind them answered with these tokens per call: 100 in, 300 cache read, 200 cache write, 40
out for the first, and 11, 503, 22, 25 for each later one; `plain-noflags` and `empty` made the first call
twice.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tiltyard_runner.agents import AgentOutput, AgentResult, adapter_for
from tiltyard_specs.usage import Usage

SAMPLES = Path(__file__).parents[1] / "samples" / "claude"
ANSWER = "FINAL-ANSWER: 42"
ONE_CALL = Usage(input=100, cache_read=300, cache_write=200, output=40)
TWO_CALLS = Usage(input=111, cache_read=803, cache_write=222, output=65)
FIRST_CALL_TWICE = Usage(input=200, cache_read=600, cache_write=400, output=80)
NOTHING = Usage(input=0, cache_read=0, cache_write=0, output=0, cache_write_1h=0)
SONNET = "claude-sonnet-4-5"
ECHO = ("mcp__spike__spike_echo",)


@dataclass(frozen=True)
class Expected:
    answer: str | None = ANSWER
    turns: int | None = 2
    tools: tuple[str, ...] = ("Bash",)
    usage: Usage | None = TWO_CALLS
    model: str | None = SONNET
    error: tuple[str, int | None] | None = None
    complete: bool = True
    version: str | None = "2.1.197"


def no_tools(**changes: Any) -> Expected:
    return Expected(**{"tools": (), "usage": ONE_CALL, "turns": 1, **changes})


def failed(kind: str, status: int | None = None, **changes: Any) -> Expected:
    usual = {"answer": None, "turns": 0, "tools": (), "usage": None, "complete": False}
    return Expected(**{**usual, "error": (kind, status), **changes})


def with_reasoning(usage: Usage) -> Usage:
    """2.1.332 says how much of the output was reasoning: none here."""
    return usage.model_copy(update={"reasoning": 0})


NEW: dict[str, Any] = {"usage": with_reasoning(TWO_CALLS), "version": "2.1.332"}

EXPECTED = {
    "bare": Expected(),
    "cut": no_tools(),  # `usage` of the result is all zeros, `modelUsage` is right
    "empty": failed("no_answer", usage=FIRST_CALL_TWICE, turns=2, complete=True),
    "err401": failed("api_error", 401),  # killed while it was still retrying
    "err429": failed("api_error", 429, usage=NOTHING, complete=True),  # subtype success, is_error true
    "err429-default": failed("api_error", 429),
    "err500": failed("api_error", 500, usage=NOTHING, complete=True),
    "hang": failed("killed"),
    "home-unwritable": Expected(),
    "maxturns": failed(
        "limit",
        usage=Usage(input=122, cache_read=1306, cache_write=244, output=90),
        turns=3,  # num_turns says 4
        tools=("Bash",) * 3,
        complete=True,
    ),
    "mcp": Expected(),
    "mcp-blocking": Expected(tools=ECHO),
    "mcp-both": Expected(tools=ECHO),
    "mcp-broken": no_tools(),
    "mcp-dotmcp": Expected(),
    "mcp-dotmcp-nonint": Expected(),
    "mcp-notoolsearch": Expected(),
    "plain": no_tools(),
    "plain-noflags": no_tools(
        usage=FIRST_CALL_TWICE, model="claude-sonnet-5"
    ),  # the title call is in modelUsage alone
    "skill": no_tools(),
    "stdin-closed": Expected(),
    "tool": Expected(),
    "tool-denied": Expected(),
    "tool-json": no_tools(usage=TWO_CALLS, turns=2, version=None),  # one object, no messages
    "tool-nonroot": Expected(),
    "tool-skipperm-root": failed("not_started", turns=None, model=None, version=None),
    "tool-skipperm-sandbox": Expected(),
    "unknownmodel": no_tools(model="totally-fake-model"),
    "v332-err401": failed("api_error", 401, usage=with_reasoning(NOTHING), complete=True, version="2.1.332"),
    "v332-int": failed(  # its exit code is 0; two output tokens are what it had seen when it was interrupted
        "killed",
        usage=Usage(input=100, cache_read=300, cache_write=200, output=2, reasoning=0),
        turns=1,
        model="claude-sonnet-5",
        version="2.1.332",
    ),
    "v332-mcp": Expected(**NEW),
    "v332-mcp-blocking": Expected(**NEW),
    "v332-mcp-nosearch": Expected(tools=ECHO, **NEW),
    "v332-tool": Expected(**NEW),
}


def read(case: str) -> AgentResult:
    folder = SAMPLES / case
    meta = json.loads((folder / "meta.json").read_text())
    return adapter_for("claude").parse(AgentOutput(folder / "stdout", folder / "stderr", meta["rc"]))


def test_every_recording_has_an_expectation() -> None:
    assert {folder.name for folder in SAMPLES.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_recording_is_read_as_worked_out_by_hand(case: str) -> None:
    expected, result = EXPECTED[case], read(case)
    assert result.answer == expected.answer
    assert result.turns == expected.turns
    assert tuple(call.name for call in result.tool_calls) == expected.tools
    assert result.usage == expected.usage
    assert result.model == expected.model
    assert (result.error and (result.error.kind, result.error.status)) == expected.error
    assert result.complete is expected.complete
    assert result.version == expected.version


def test_tool_calls_carry_their_input() -> None:
    assert [call.input for call in read("tool").tool_calls] == [
        {"command": "echo spike-tool-ok > made-by-agent.txt; ls"}
    ]
    assert [call.input for call in read("mcp-both").tool_calls] == [{"text": "hello-mcp"}]


def test_reported_cost_is_what_the_cli_said_even_for_a_model_that_it_does_not_know() -> None:
    """An unknown model is priced as the dearest one, which is why the cost is only ever called reported."""
    assert read("tool").cost_usd == pytest.approx(0.0023814)
    assert read("unknownmodel").cost_usd == pytest.approx(0.0029)
    assert read("hang").cost_usd is None


def test_error_messages_name_the_cause() -> None:
    messages = {case: read(case).error for case in ("err500", "maxturns", "tool-skipperm-root", "err401")}
    assert {case: error.message for case, error in messages.items() if error} == {
        "err500": "API Error: 500 spike error 500. This is a server-side issue, usually temporary — try "
        "again in a moment. If it persists, check your inference gateway (127.0.0.1:18999).",
        "maxturns": "Reached maximum number of turns (3)",
        "tool-skipperm-root": "The agent ended with exit code 1 before it did anything: "
        "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
        "err401": "Still retrying after an API error when it was ended: authentication_failed",
    }


def test_what_the_init_event_offers_is_told_by_kind() -> None:
    assert "mcp:spike" in read("v332-mcp-nosearch").offered
    assert "mcp__spike__spike_echo" in read("v332-mcp-nosearch").offered
    assert "mcp:bad" not in read("mcp-broken").offered  # status failed
    assert "mcp:spike" not in read("mcp").offered  # status pending
    assert "skill:spike-skill" in read("skill").offered


def test_session_joins_the_run_to_the_meter() -> None:
    assert read("err401").session == "a7194f1f-b781-446d-8187-f8eeea839ca7"
