"""Codex CLI: its command line, and whether an arm's treatment reached it. Tried with 0.171.0.

All its configuration is given as flags, so nothing in a home can change it. A command of the user's own,
which may start codex without flags, finds the same configuration in its home.
"""

import json
from collections.abc import Mapping, Sequence

from tiltyard_runner.agents.codex_stream import parse_stream
from tiltyard_runner.agents.command import checked_prompt, custom_command, fits_argument, from_file
from tiltyard_runner.agents.model import (
    HOME,
    AgentOutput,
    AgentResult,
    AgentTask,
    Launch,
    LaunchFile,
    Provider,
)
from tiltyard_runner.agents.treatment import (
    instruction_files,
    missing_tools,
    named_tools,
    server_settings,
    skill_files,
)
from tiltyard_specs.calls import Call

KEY_VARIABLE = "TILTYARD_KEY"
PROVIDER = "tiltyard"
"""A provider of our own: the built-in one ignores OPENAI_BASE_URL and tries a WebSocket first."""
CONFIG_FILE = f"{HOME}/.codex/config.toml"
IDLE_TIMEOUT_MS = 300_000
REQUIRED_SERVER_FAILED = "required MCP servers failed to initialize"

Settings = dict[str, object]


class CodexAdapter:
    """Codex, headless, with JSON lines as output."""

    kind = "codex"
    provider: Provider | None = "openai"
    layer: str | None = "codex"
    result_file: str | None = None

    def treatment_files(self, task: AgentTask) -> tuple[LaunchFile, ...]:
        """Skills in `.agents/skills`, instructions in `AGENTS.md`."""
        return skill_files(task.skills, ".agents/skills") + instruction_files(task, "AGENTS.md")

    def launch(self, task: AgentTask) -> Launch:
        """The CLI with its own sandbox off: inside Docker that sandbox fails every command, silently."""
        keys = task.keys("OPENAI_API_KEY")
        env = {
            KEY_VARIABLE: keys["OPENAI_API_KEY"],
            **keys,
            "OPENAI_BASE_URL": f"{task.gateway_url}/v1",
            **task.env,
        }
        if task.command is not None:
            config = LaunchFile(CONFIG_FILE, _as_file(_settings(task)).encode())
            return Launch(custom_command(task.command, task.prompt), env, (config,))
        argv = (*_fixed_arguments(), *_as_flags(_settings(task)), *task.args, "--")
        if task.prompt == "-" or not fits_argument(task.prompt):  # codex takes a lone dash for standard input
            return from_file((*argv, "-"), task.prompt, env)
        return Launch((*argv, checked_prompt(task.prompt)), env)

    def parse(self, output: AgentOutput) -> AgentResult:
        """Read a stream of `codex exec --json`."""
        return parse_stream(output)

    def missing_treatment(
        self, task: AgentTask, result: AgentResult, calls: Sequence[Call]
    ) -> tuple[str, ...]:
        """The tools of each MCP server must be in a request; the stream says nothing of servers or skills."""
        offered = {tool for call in calls for tool in call.tools}
        if not offered:
            return _refused_to_start(result)
        return tuple(
            phrase
            for name, server in task.mcp_servers.items()
            for phrase in missing_tools(name, server, offered)
        )


def _refused_to_start(result: AgentResult) -> tuple[str, ...]:
    """Codex's own words about a required server; another failure before the first call is not the arm's."""
    _, found, reason = (result.error.message if result.error else "").partition(REQUIRED_SERVER_FAILED)
    return (found + reason.split(" Error: ")[0],) if found else ()


def _fixed_arguments() -> tuple[str, ...]:
    return (
        "codex",
        "exec",
        "--json",
        "--dangerously-bypass-approvals-and-sandbox",
        "--skip-git-repo-check",
        "--ephemeral",
        "--ignore-user-config",
    )


def _settings(task: AgentTask) -> Settings:
    settings: Settings = {
        "model_provider": PROVIDER,
        f"model_providers.{PROVIDER}": {
            "name": PROVIDER,
            "base_url": f"{task.gateway_url}/v1",
            "env_key": KEY_VARIABLE,
            "wire_api": "responses",
            "request_max_retries": 2,
            "stream_max_retries": 2,
            "stream_idle_timeout_ms": IDLE_TIMEOUT_MS,
        },
        "analytics.enabled": False,  # else five seconds at the exit of each run without a network
        "check_for_update_on_startup": False,
        "web_search": "disabled",  # the provider runs it, so a sealed network would not hold it
    }
    if task.model is not None:
        settings["model"] = task.model
    if task.effort is not None:
        settings["model_reasoning_effort"] = task.effort
    if task.mcp_servers:
        settings["mcp_servers"] = {name: _server(server) for name, server in task.mcp_servers.items()}
    return settings


def _server(server: Mapping[str, object]) -> Settings:
    # Else the server starts beside the first request and is absent from it, without a word.
    settings: Settings = {**server_settings(server), "required": True}
    tools = named_tools(server)
    if tools:
        settings["enabled_tools"] = list(tools)
    return settings


def _as_flags(settings: Settings) -> list[str]:
    return [part for key, value in settings.items() for part in ("-c", f"{key}={_toml(value)}")]


def _as_file(settings: Settings) -> str:
    return "".join(f"{key} = {_toml(value)}\n" for key, value in settings.items())


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):  # a JSON string is a TOML string, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
