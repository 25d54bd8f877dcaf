"""OpenAI Responses."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tiltyard_gateway.wires.base import (
    Inquiry,
    Route,
    as_count,
    as_list,
    as_object,
    as_text,
    error_text,
    parse_object,
)
from tiltyard_gateway.wires.edits import describe_first, remove_tools
from tiltyard_gateway.wires.openai import OpenAIWire, is_premium, split_usage
from tiltyard_specs.calls import Wire as WireName
from tiltyard_specs.usage import Usage

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_HOSTED = ("web_search", "mcp", "image_generation", "code_interpreter", "file_search")
_BACKGROUND = "a response in the background cannot be metered: ask for it without `background`"


class ResponsesReading:
    """Usage stands in the last event only."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.error: str | None = None
        self.finished = False
        self.usage: Usage | None = None

    def on_event(self, name: str, data: bytes) -> None:
        """The deltas are by far the most events and say nothing of interest: do not parse them."""
        if name and name not in _ENDS and name not in {"response.created", "error"}:
            return
        body = parse_object(data)
        kind = body.get("type", name)
        if kind == "error":
            self.error = error_text(body) or "error event"
        elif kind in _ENDS:
            self.finished = True
            self.on_body(as_object(body.get("response")))
            if kind == "response.failed":
                self.error = self.error or "response.failed"
        elif kind == "response.created":
            self.model = as_text(as_object(body.get("response")).get("model"))

    def on_body(self, body: Mapping[str, Any]) -> None:
        """A response object, or an error."""
        self.model = as_text(body.get("model")) or self.model
        if isinstance(body.get("usage"), dict):
            usage = body["usage"]
            details = as_object(usage.get("input_tokens_details"))
            self.usage = split_usage(
                usage.get("input_tokens"),
                usage.get("output_tokens"),
                details.get("cached_tokens"),
                details,
                as_object(usage.get("output_tokens_details")),
            )
        if body.get("error"):
            self.error = error_text(body) or "error"


class ResponsesWire(OpenAIWire):
    """`POST /v1/responses`, with or without the version segment."""

    name: WireName = "openai-responses"
    routes: tuple[Route, ...] = (
        Route("POST", re.compile(r"(/v1)?(?P<rest>/responses)"), "billable"),
        Route("GET", re.compile(r"(/v1)?(?P<rest>/models(/[\w.:@-]+)?)"), "free"),
    )
    session_headers: tuple[str, ...] = ("session-id", "session_id")
    stop_status: int = 400
    """Codex tries again after 402 and 403, and does not show the message of a 429."""

    def inquire(self, path: str, body: Mapping[str, Any]) -> Inquiry:
        """Model, stream flag and tool names stand in the body."""
        del path
        return Inquiry(
            role=as_text(body.get("model")),
            stream=body.get("stream") is True,
            tools=tuple(_tool_names(as_list(body.get("tools")))),
            output_cap=as_count(body.get("max_output_tokens")),
            refusal=_BACKGROUND if body.get("background") else None,
            premium=is_premium(body),
        )

    def reading(self) -> ResponsesReading:
        """A fresh reader for one response."""
        return ResponsesReading()

    def add_nonce(self, body: dict[str, Any], nonce: str) -> None:
        """Before the first tool's description and the instructions: their order is not told."""
        describe_first(_all_tools(body), nonce)
        instructions = as_text(body.get("instructions"))
        body["instructions"] = f"{nonce}\n{instructions}" if instructions else nonce

    def strip_hosted(self, body: dict[str, Any]) -> list[str]:
        """Search runs at the provider, and so do MCP servers that the request names by address."""
        holders = [body, *map(as_object, as_list(body.get("input")))]
        return [name for holder in holders for name in remove_tools(holder, _is_hosted, _type)]


def _type(tool: Mapping[str, Any]) -> str:
    return as_text(tool.get("type")) or ""


def _is_hosted(tool: Mapping[str, Any]) -> bool:
    place = as_object(
        tool.get("environment")
    )  # of a shell: here, or in a container that is billed by the hour
    return _type(tool).startswith(_HOSTED) or _type(place).startswith("container")


def _all_tools(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in map(as_object, as_list(body.get("tools"))):
        yield tool
        yield from map(as_object, as_list(tool.get("tools")))


def _tool_names(tools: list[Any], prefix: str = "") -> Iterator[str]:
    """Codex offers MCP tools inside a namespace: `mcp__server` with `tool` gives `mcp__server__tool`."""
    for item in tools:
        tool = as_object(item)
        name = as_text(tool.get("name")) or as_text(tool.get("type"))
        if name and tool.get("type") == "namespace":
            yield from _tool_names(as_list(tool.get("tools")), prefix=f"{prefix}{name}__")
        elif name:
            yield prefix + name


WIRE = ResponsesWire()
