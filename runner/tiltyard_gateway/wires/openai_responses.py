"""OpenAI Responses."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tiltyard_gateway.wires.base import (
    Hidden,
    Inquiry,
    Route,
    as_count,
    as_list,
    as_object,
    as_text,
    error_text,
    parse_object,
)
from tiltyard_gateway.wires.edits import describe_first, remove_tools, replace_model
from tiltyard_specs.calls import Wire as WireName
from tiltyard_specs.usage import Usage

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_ERROR_TYPES = {
    401: "authentication_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "server_error",
}
_WEB_TOOLS = ("web_search", "mcp")
_CACHE_KEYS = ("prompt_cache_key", "prompt_cache_retention")
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
            self.usage = _usage(body["usage"])
        if body.get("error"):
            self.error = error_text(body) or "error"


def _usage(raw: Mapping[str, Any]) -> Usage | None:
    """Input includes what the cache served and took; the canonical form keeps them apart."""
    total = as_count(raw.get("input_tokens"))
    details = as_object(raw.get("input_tokens_details"))
    cached = as_count(details.get("cached_tokens"))
    written = as_count(details.get("cache_write_tokens"))
    output = as_count(raw.get("output_tokens"))
    if total is None and output is None:
        return None
    fresh = None if total is None else total - (cached or 0) - (written or 0)
    return Usage(
        input=as_count(fresh),
        cache_read=cached,
        cache_write=written,
        output=output,
        reasoning=as_count(as_object(raw.get("output_tokens_details")).get("reasoning_tokens")),
    )


class ResponsesWire:
    """`POST /v1/responses`, with or without the version segment."""

    name: WireName = "openai-responses"
    provider: str = "openai"
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
        )

    def key_headers(self, key: str) -> dict[str, str]:
        """A bearer token."""
        return {"Authorization": f"Bearer {key}"}

    def reading(self) -> ResponsesReading:
        """A fresh reader for one response."""
        return ResponsesReading()

    def error_body(self, status: int, message: str, reason: str | None = None) -> dict[str, Any]:
        """`{"error": {...}}`."""
        kind = _ERROR_TYPES.get(status, "invalid_request_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": reason}}

    def set_model(self, rest: str, body: dict[str, Any], model: str) -> str:
        """The body names it."""
        return replace_model(rest, body, model)

    def report_usage(self, body: dict[str, Any]) -> Hidden | None:
        """It always does."""
        del body
        return None

    def forbid_cache(self, body: dict[str, Any], nonce: str) -> None:
        """No switch turns it off, but nothing is found for a prompt that begins differently."""
        for key in _CACHE_KEYS:
            body.pop(key, None)
        self.add_nonce(body, nonce)

    def add_nonce(self, body: dict[str, Any], nonce: str) -> None:
        """Before the first tool's description and the instructions: their order is not told."""
        describe_first(_all_tools(body), nonce)
        instructions = as_text(body.get("instructions"))
        body["instructions"] = f"{nonce}\n{instructions}" if instructions else nonce

    def strip_web(self, body: dict[str, Any]) -> list[str]:
        """Search runs at the provider, and so do MCP servers that the request names by address."""
        holders = [body, *map(as_object, as_list(body.get("input")))]
        return [name for holder in holders for name in remove_tools(holder, _reaches_the_web, _type)]


def _type(tool: Mapping[str, Any]) -> str:
    return as_text(tool.get("type")) or ""


def _reaches_the_web(tool: Mapping[str, Any]) -> bool:
    return _type(tool).startswith(_WEB_TOOLS)


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
