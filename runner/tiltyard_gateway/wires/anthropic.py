"""Anthropic Messages."""

import re
from collections.abc import Mapping
from typing import Any

from tiltyard_gateway.wires.base import (
    BodyWire,
    Inquiry,
    Route,
    as_count,
    as_list,
    as_object,
    as_text,
    error_text,
    parse_object,
)
from tiltyard_gateway.wires.edits import describe_first, remove_key, remove_tools
from tiltyard_specs.calls import Wire as WireName
from tiltyard_specs.usage import Usage, total_usage

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_HOSTED = ("web_search_", "web_fetch_", "mcp_toolset", "code_execution_", "advisor_")
"""By the beginning of their type. An advisor is another model, at another price."""
_LIST_PRICE_SPEEDS = (None, "standard")
_ANYWHERE = (None, "global")
_INPUT_FIELDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation")
_OUTPUT_FIELDS = ("output_tokens", "output_tokens_details", "iterations")


class AnthropicReading:
    """Usage comes in two parts: message_start has the input, message_delta the cumulative whole."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.error: str | None = None
        self.finished = False
        self._usage: dict[str, Any] = {}

    @property
    def usage(self) -> Usage | None:
        """The last word per field."""
        raw = self._usage
        if not raw:
            return None
        passes = [as_object(each) for each in as_list(raw.get("iterations"))]
        if all(each.get("type") == "message" for each in passes):
            return _usage(raw)
        # Its own sums leave out the passes in which the provider compacted the context, or asked an advisor.
        return total_usage([_usage(each) for each in passes])

    def on_event(self, name: str, data: bytes) -> None:
        """Only four of the event kinds matter, and deltas are by far the most: do not parse those."""
        if name in {"content_block_delta", "content_block_start", "content_block_stop", "ping"}:
            return
        body = parse_object(data)
        kind = body.get("type", name)
        if kind == "message_start":
            message = as_object(body.get("message"))
            self.model = as_text(message.get("model"))
            # Its output count is a snapshot of the first token: a cut stream's output stays unknown.
            self._take(message.get("usage"), _INPUT_FIELDS)
        elif kind == "message_delta":
            self._take(body.get("usage"), _INPUT_FIELDS + _OUTPUT_FIELDS)
        elif kind == "message_stop":
            self.finished = True
        elif kind == "error":
            self.error = error_text(body) or "error event"

    def on_body(self, body: Mapping[str, Any]) -> None:
        """A whole message, or an error."""
        self.model = as_text(body.get("model"))
        self._take(body.get("usage"), _INPUT_FIELDS + _OUTPUT_FIELDS)
        if body.get("type") == "error" or "error" in body:
            self.error = error_text(body) or "error"

    def _take(self, usage: Any, fields: tuple[str, ...]) -> None:
        found = as_object(usage)
        self._usage |= {field: found[field] for field in fields if found.get(field) is not None}


def _usage(raw: Mapping[str, Any]) -> Usage:
    """Of a message, or of one pass of the model over it."""
    split = as_object(raw.get("cache_creation"))
    return Usage(
        input=as_count(raw.get("input_tokens")),
        cache_read=as_count(raw.get("cache_read_input_tokens")),
        cache_write=as_count(raw.get("cache_creation_input_tokens")),
        output=as_count(raw.get("output_tokens")),
        reasoning=as_count(as_object(raw.get("output_tokens_details")).get("thinking_tokens")),
        cache_write_1h=as_count(split.get("ephemeral_1h_input_tokens")),
    )


class AnthropicWire(BodyWire):
    """`POST /v1/messages` and its free neighbours."""

    name: WireName = "anthropic"
    provider: str = "anthropic"
    routes: tuple[Route, ...] = (
        Route("POST", re.compile(r"/v1(?P<rest>/messages)"), "billable"),
        Route("POST", re.compile(r"/v1(?P<rest>/messages/count_tokens)"), "free"),
        Route("GET", re.compile(r"/v1(?P<rest>/models(/[\w.:@-]+)?)"), "free", marker="anthropic-version"),
    )
    session_headers: tuple[str, ...] = ("x-claude-code-session-id",)
    stop_status: int = 402

    def inquire(self, path: str, body: Mapping[str, Any]) -> Inquiry:
        """Model, stream flag and tool names stand in the body."""
        del path
        names = [as_text(as_object(tool).get("name")) for tool in as_list(body.get("tools"))]
        return Inquiry(
            role=as_text(body.get("model")),
            stream=body.get("stream") is True,
            tools=tuple(name for name in names if name),
            output_cap=as_count(body.get("max_tokens")),
            premium=body.get("speed") not in _LIST_PRICE_SPEEDS or body.get("inference_geo") not in _ANYWHERE,
        )

    def key_headers(self, key: str) -> dict[str, str]:
        """Anthropic's own header."""
        return {"x-api-key": key}

    def reading(self) -> AnthropicReading:
        """A fresh reader for one response."""
        return AnthropicReading()

    def error_body(self, status: int, message: str, reason: str | None = None) -> dict[str, Any]:
        """`{"type": "error", ...}`."""
        del reason
        return {"type": "error", "error": {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}}

    def forbid_cache(self, body: dict[str, Any], nonce: str) -> None:
        """Nothing is cached that the request does not mark."""
        del nonce
        remove_key(body, "cache_control")

    def add_nonce(self, body: dict[str, Any], nonce: str) -> None:
        """Tools come first in a prompt, so the first one's description changes; else the system text.

        With tools the system text stays: a login of Claude Code's own works with its own text only.
        """
        if describe_first(map(as_object, as_list(body.get("tools"))), nonce):
            return
        system = body.get("system")
        if isinstance(system, str):
            body["system"] = f"{nonce}\n{system}"
        else:
            body["system"] = [{"type": "text", "text": nonce}, *as_list(system)]

    def strip_hosted(self, body: dict[str, Any]) -> list[str]:
        """Search and fetch run at the provider, and so do MCP servers that the request names by address."""
        names = remove_tools(body, _is_hosted, lambda tool: as_text(tool.get("name")) or tool["type"])
        return names + (["mcp_servers"] if body.pop("mcp_servers", None) else [])


def _is_hosted(tool: Mapping[str, Any]) -> bool:
    return (as_text(tool.get("type")) or "").startswith(_HOSTED)


WIRE = AnthropicWire()
