"""Whether what an arm brings reached the agent, told from real streams and the requests of the same runs.

The recordings are of one server, `spike`, with one tool, `spike_echo`.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tiltyard_runner.agents import AgentOutput, AgentResult, AgentTask, Skill, adapter_for
from tiltyard_specs.calls import Call

SAMPLES = Path(__file__).parents[1] / "samples"
SPIKE = AgentTask(prompt="p", mcp_servers={"spike": {"command": "s", "tools": ["*"]}})
BAD = AgentTask(prompt="p", mcp_servers={"bad": {"command": "/nonexistent"}})
NO_TOOL = "MCP server spike: none of its tools was offered to the model"


def missing(kind: str, case: str, task: AgentTask, calls: list[Call] | None = None) -> tuple[str, ...]:
    folder = SAMPLES / kind / case
    meta = json.loads((folder / "meta.json").read_text())
    adapter = adapter_for(kind)
    result = adapter.parse(AgentOutput(folder / "stdout", folder / "stderr", meta["rc"]))
    return adapter.missing_treatment(task, result, recorded_calls(folder) if calls is None else calls)


def recorded_calls(folder: Path) -> list[Call]:
    log = folder / "requests.jsonl"
    requests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [call_with(*map(tool_name, request["tools"])) for request in requests]


def tool_name(tool: Any) -> str:
    """The recordings' log notes a tool in a namespace as [name, {namespace}]."""
    if isinstance(tool, str):
        return tool
    name, details = tool
    return f"{details['namespace']}__{name}" if "namespace" in details else str(name)


def call_with(*tools: str) -> Call:
    return Call(
        index=1,
        started_at="2026-01-01T00:00:00Z",
        wire=None,
        method="POST",
        path="/v1/x",
        role=None,
        model=None,
        stream=True,
        status=200,
        outcome="ok",
        usage=None,
        cost_usd=None,
        seconds=0.0,
        first_byte_seconds=None,
        tools=tools,
    )


@pytest.mark.parametrize(
    ("kind", "case", "expected"),
    [
        (
            "claude",
            "mcp",
            ("MCP server spike: not connected",),
        ),  # pending: the first request went out before it
        ("claude", "mcp-blocking", ()),
        ("claude", "v332-mcp", ()),  # behind the tool search: out of sight, within reach
        ("claude", "v332-mcp-nosearch", ()),
        ("codex", "mcp", ()),
        ("codex", "mcp-flag", (NO_TOOL,)),  # not required: it came after the first request, without a word
    ],
)
def test_recorded_runs_with_an_mcp_server(kind: str, case: str, expected: tuple[str, ...]) -> None:
    assert missing(kind, case, SPIKE) == expected


def test_a_server_that_does_not_start_is_missing() -> None:
    assert missing("claude", "mcp-broken", BAD) == ("MCP server bad: not connected",)
    assert missing("codex", "mcp-broken", BAD) == (
        "MCP server bad: none of its tools was offered to the model",
    )


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_nothing_expected_is_nothing_missing(kind: str) -> None:
    assert missing(kind, "plain", AgentTask(prompt="p")) == ()


def test_a_connected_server_whose_tools_reach_no_request_is_missing() -> None:
    assert missing("claude", "v332-mcp", SPIKE, [call_with("Bash", "Read")]) == (NO_TOOL,)


def test_a_skill_is_there_when_claude_lists_it() -> None:
    skill, other = Skill("spike-skill", "d", "c"), Skill("lost", "d", "c")
    task = AgentTask(prompt="p", skills=(skill,))
    assert missing("claude", "skill", task) == ()
    assert missing("claude", "skill", replace(task, skills=(skill, other))) == (
        "skill lost: not listed by the agent",
    )


def test_a_tool_that_the_arm_names_must_be_offered() -> None:
    task = replace(SPIKE, mcp_servers={"spike": {"command": "s", "tools": ["spike_echo", "gone"]}})
    gone = ("MCP server spike: its tool gone was not offered to the model",)
    assert missing("codex", "mcp", task) == gone
    assert missing("claude", "mcp-blocking", task) == gone


def test_names_are_matched_whole_and_with_the_characters_that_a_cli_keeps() -> None:
    task = replace(SPIKE, mcp_servers={"my-srv": {"command": "s", "tools": ["find-it"]}})
    assert missing("codex", "plain", task, [call_with("mcp__my_srv__find_it")]) == ()
    assert missing("codex", "plain", task, [call_with("mcp__my_srv2__find_it")]) != ()


def test_nothing_but_files_and_words_reaches_mini() -> None:
    mini = adapter_for("mini")
    task = replace(SPIKE, skills=(Skill("acme", "d", "c"),), instructions="Be brief.")
    assert mini.treatment_files(task) == ()
    assert mini.missing_treatment(task, AgentResult(), [call_with("bash")]) == (
        "MCP server spike: mini has no MCP",
        "skill acme: mini loads no skills",
        "instructions: mini reads no such file",
    )
    assert mini.missing_treatment(AgentTask(prompt="p"), AgentResult(), []) == ()


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_a_run_that_never_began_is_not_blamed_on_the_treatment(kind: str) -> None:
    case = {"claude": "tool-skipperm-root", "codex": "nogit"}[kind]
    assert missing(kind, case, SPIKE) == ()


def test_codex_that_refuses_to_start_without_a_required_server_says_so(tmp_path: Path) -> None:
    """Its words, from a run with a server whose command does not exist."""
    said = (
        "ERROR codex_core::session: Failed to create session: required MCP servers failed to initialize: "
        "bad: No such file or directory (os error 2)\n"
    )
    (tmp_path / "raw.err").write_text(said)
    codex = adapter_for("codex")
    result = codex.parse(AgentOutput(tmp_path / "raw.out", tmp_path / "raw.err", 1))
    assert codex.missing_treatment(BAD, result, []) == (
        "required MCP servers failed to initialize: bad: No such file or directory (os error 2)",
    )
