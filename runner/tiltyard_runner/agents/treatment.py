"""The parts of an arm that all agent CLIs take in nearly the same form: skills, instructions, MCP servers."""

import json
import re
from collections.abc import Iterable, Mapping

from tiltyard_runner.agents.model import WORKSPACE, AgentTask, LaunchFile, Skill
from tiltyard_specs.errors import DataError


def skill_files(skills: Iterable[Skill], folder: str) -> tuple[LaunchFile, ...]:
    """Each skill as `NAME/SKILL.md` in a folder of the workspace, with the front matter that CLIs ask for."""
    return tuple(
        LaunchFile(f"{WORKSPACE}/{folder}/{_folder_name(skill)}/SKILL.md", _skill_text(skill).encode())
        for skill in skills
    )


def instruction_files(task: AgentTask, name: str) -> tuple[LaunchFile, ...]:
    """The arm's instructions under the name that this agent reads, when there are any."""
    if task.instructions is None:
        return ()
    return (LaunchFile(f"{WORKSPACE}/{name}", task.instructions.encode()),)


def server_settings(server: Mapping[str, object]) -> dict[str, object]:
    """What starts an MCP server; `tools` is ours, and each CLI says it in its own way."""
    return {key: server[key] for key in ("command", "args", "env") if server.get(key) is not None}


def named_tools(server: Mapping[str, object]) -> tuple[str, ...]:
    """The tools that the arm names; empty when it takes all (`["*"]`, or no `tools` at all)."""
    tools = server.get("tools")
    names = tuple(str(tool) for tool in tools) if isinstance(tools, (list, tuple)) else ()
    return () if "*" in names else names


def tool_prefix(server: str) -> str:
    """The prefix that CLIs give to the tools of a server: characters that an API refuses become `_`."""
    return "mcp__" + re.sub(r"[^a-zA-Z0-9_-]", "_", server)


def missing_tools(name: str, server: Mapping[str, object], offered: Iterable[str]) -> tuple[str, ...]:
    """What of one MCP server is not among the tools that the model was offered.

    CLIs differ in which characters of a name they keep, so only letters and digits are compared as they are.
    """
    prefix = f"{_plain(tool_prefix(name))}__"
    plain = {_plain(tool) for tool in offered}
    if not any(tool.startswith(prefix) for tool in plain):
        return (f"MCP server {name}: none of its tools was offered to the model",)
    return tuple(
        f"MCP server {name}: its tool {tool} was not offered to the model"
        for tool in named_tools(server)
        if prefix + _plain(tool) not in plain
    )


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def _folder_name(skill: Skill) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", skill.name):
        raise DataError(
            f"The skill name {skill.name!r} is not usable as a folder name; "
            "use letters, digits, '.', '_' and '-', at most 64 of them."
        )
    return skill.name


def _skill_text(skill: Skill) -> str:
    # A JSON string is a YAML string, whatever colons, quotes or line ends the description holds.
    description = json.dumps(skill.description, ensure_ascii=False)
    return f"---\nname: {skill.name}\ndescription: {description}\n---\n\n{skill.content.rstrip()}\n"
