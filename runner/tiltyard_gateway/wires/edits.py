"""Changes of a request's body that several wires share. All of them work in place."""

from collections.abc import Callable, Iterable
from typing import Any


def describe_first(tools: Iterable[dict[str, Any]], text: str) -> bool:
    """Put a line before the description of the first tool that has one."""
    for tool in tools:
        if isinstance(tool.get("description"), str):
            tool["description"] = f"{text}\n{tool['description']}"
            return True
    return False


def remove_key(value: Any, name: str) -> None:
    """Remove a key wherever it stands, but for the schemas of tools and the inputs of their calls."""
    if isinstance(value, dict):
        value.pop(name, None)
        for key, item in value.items():
            if key not in {"input_schema", "input"}:
                remove_key(item, name)
    elif isinstance(value, list):
        for item in value:
            remove_key(item, name)


def remove_tools(
    holder: dict[str, Any],
    is_removed: Callable[[dict[str, Any]], bool],
    name: Callable[[dict[str, Any]], str],
) -> list[str]:
    """Remove tools from `holder["tools"]`, and a choice that would force what is gone. Names what went."""
    tools = holder.get("tools")
    if not isinstance(tools, list):
        return []
    gone = [tool for tool in tools if isinstance(tool, dict) and is_removed(tool)]
    if not gone:
        return []
    names = [name(tool) for tool in gone]
    kept = [tool for tool in tools if not any(tool is other for other in gone)]
    if kept:
        holder["tools"] = kept
    else:
        del holder["tools"]
    choice = holder.get("tool_choice")
    if choice is not None and (not kept or _forces(choice, names)):
        del holder["tool_choice"]
    return names


def _forces(choice: Any, names: list[str]) -> bool:
    return isinstance(choice, dict) and (choice.get("name") in names or choice.get("type") in names)
