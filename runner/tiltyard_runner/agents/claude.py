"""Claude Code: its command line, and whether an arm's treatment reached it.

Tried with 2.1.197 and 2.1.332.
"""

import json
from collections.abc import Mapping, Sequence

from tiltyard_runner.agents.claude_stream import parse_stream
from tiltyard_runner.agents.command import checked_prompt, custom_command, fits_argument, from_file
from tiltyard_runner.agents.model import AgentOutput, AgentResult, AgentTask, Launch, LaunchFile, Provider
from tiltyard_runner.agents.treatment import (
    instruction_files,
    missing_tools,
    named_tools,
    server_settings,
    skill_files,
    tool_prefix,
)
from tiltyard_specs.calls import Call
from tiltyard_specs.errors import DataError

EFFORTS = ("low", "medium", "high", "xhigh", "max")
WEB_TOOLS = ("WebSearch", "WebFetch")
READ_TOOLS = ("Bash", "Read", "Grep", "Glob")
EDIT_TOOLS = ("Edit", "Write", "NotebookEdit")

FIXED_ENV: Mapping[str, str] = {
    # Else one more call per run (a title for the session), which is in no usage of the result.
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",  # else 10 with back-off, even for a refused key
    "ENABLE_TOOL_SEARCH": "false",  # else MCP tools hide behind a search tool
    "MCP_CONNECTION_NONBLOCKING": "0",  # else the first request goes out before a slow server is there
}


class ClaudeAdapter:
    """Claude Code, headless, with stream-json output."""

    kind = "claude"
    provider: Provider | None = "anthropic"
    layer: str | None = "claude"
    result_file: str | None = None

    def treatment_files(self, task: AgentTask) -> tuple[LaunchFile, ...]:
        """Skills in `.claude/skills`, instructions in `CLAUDE.md`."""
        return skill_files(task.skills, ".claude/skills") + instruction_files(task, "CLAUDE.md")

    def launch(self, task: AgentTask) -> Launch:
        """The CLI, asking nobody: the container is the sandbox, and without edits the tree is read-only."""
        env = {
            **FIXED_ENV,
            "ANTHROPIC_BASE_URL": task.gateway_url,
            **task.keys("ANTHROPIC_API_KEY"),
            **task.env,
        }
        if task.command is not None:
            return Launch(custom_command(task.command, task.prompt), env)
        argv = ("claude", "-p", "--output-format", "stream-json", "--verbose", *_options(task), *task.args)
        if not fits_argument(task.prompt):
            return from_file(argv, task.prompt, env)
        # After `--` nothing is an option, nor another value of a list option before it.
        return Launch((*argv, "--", checked_prompt(task.prompt)), env)

    def parse(self, output: AgentOutput) -> AgentResult:
        """Read a stream-json (or `--output-format json`) stream."""
        return parse_stream(output)

    def missing_treatment(
        self, task: AgentTask, result: AgentResult, calls: Sequence[Call]
    ) -> tuple[str, ...]:
        """Servers must be connected and skills listed in the stream's init, and the tools be in a request."""
        if not result.offered:
            # No init event: the CLI never began, or a command of the user's own hides it. Requests may tell.
            return _unoffered(task, calls)
        unseen = tuple(
            f"MCP server {name}: not connected"
            for name in task.mcp_servers
            if f"mcp:{name}" not in result.offered
        )
        skills = tuple(
            f"skill {skill.name}: not listed by the agent"
            for skill in task.skills
            if f"skill:{skill.name}" not in result.offered
        )
        return unseen + (() if unseen else _unoffered(task, calls)) + skills


def _options(task: AgentTask) -> list[str]:
    options: list[str] = []
    if task.model is not None:
        options += ["--model", task.model]
    if task.effort is not None:
        options += ["--effort", _checked_effort(task.effort)]
    if task.max_turns is not None:
        options += ["--max-turns", str(task.max_turns)]
    return options + _permissions(task) + _mcp_options(task)


def _checked_effort(effort: str) -> str:
    # The CLI only warns about an unknown level and takes its default: two arms would be alike unseen.
    if effort not in EFFORTS:
        raise DataError(f"claude knows no effort {effort!r}; use one of {', '.join(EFFORTS)}.")
    return effort


def _permissions(task: AgentTask) -> list[str]:
    if task.edits:
        return ["--dangerously-skip-permissions", "--disallowedTools", ",".join(WEB_TOOLS)]
    allowed = [
        *READ_TOOLS,
        *(tool for name in task.mcp_servers for tool in _mcp_tools(name, task.mcp_servers[name])),
    ]
    return ["--allowedTools", ",".join(allowed), "--disallowedTools", ",".join((*WEB_TOOLS, *EDIT_TOOLS))]


def _mcp_tools(name: str, server: Mapping[str, object]) -> list[str]:
    prefix = tool_prefix(name)
    return [f"{prefix}__{tool}" for tool in named_tools(server)] or [prefix]


def _mcp_options(task: AgentTask) -> list[str]:
    if not task.mcp_servers:
        return []
    servers = {name: server_settings(server) for name, server in task.mcp_servers.items()}
    return ["--mcp-config", json.dumps({"mcpServers": servers}, ensure_ascii=False), "--strict-mcp-config"]


def _unoffered(task: AgentTask, calls: Sequence[Call]) -> tuple[str, ...]:
    offered = {tool for call in calls for tool in call.tools}
    if not offered or "ToolSearch" in offered:  # a user may want the search; then the tools are within reach
        return ()
    return tuple(
        phrase for name, server in task.mcp_servers.items() for phrase in missing_tools(name, server, offered)
    )
