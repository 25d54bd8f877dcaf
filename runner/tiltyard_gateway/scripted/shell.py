"""Turns a shell command into a call of whichever shell tool a request offers."""

from collections.abc import Sequence
from typing import Any

from tiltyard_gateway.scripted.dialect import Offer, ToolCall

_SHELLS = ("Bash", "exec_command", "shell_command", "shell", "bash", "run_shell_command", "local_shell")
_ARGUMENTS = ("command", "cmd")


def shell_call(tools: Sequence[Offer], command: str) -> ToolCall | None:
    """A call that runs the command, or None when no known shell tool is offered."""
    offers = {tool.name: tool for tool in tools}
    offer = next((offers[name] for name in _SHELLS if name in offers), None)
    return ToolCall(offer.name, offer.namespace, _arguments(offer, command)) if offer else None


def named_call(tools: Sequence[Offer], name: str, arguments: dict[str, Any]) -> ToolCall:
    """A call by name, offered or not: how agents take a call of what is not there is worth a test."""
    offer = next((tool for tool in tools if name in {tool.full_name, tool.name}), Offer(name, {}))
    return ToolCall(offer.name, offer.namespace, arguments)


def _arguments(offer: Offer, command: str) -> dict[str, Any]:
    properties = offer.schema.get("properties", {})
    name = next((name for name in _ARGUMENTS if name in properties), "command")
    as_list = properties.get(name, {}).get("type") == "array"
    arguments: dict[str, Any] = {name: ["bash", "-lc", command] if as_list else command}
    if "description" in offer.schema.get("required", []):
        arguments["description"] = "Run a command"
    return arguments
