"""OpenAI Chat Completions, which many other providers and local servers speak, too."""

import re
from collections.abc import Mapping
from typing import Any

from tiltyard_gateway.wires.base import (
    UNREADABLE_CHOICES,
    Hidden,
    Inquiry,
    Route,
    as_count,
    as_list,
    as_object,
    as_text,
    error_text,
    largest,
    parse_object,
)
from tiltyard_gateway.wires.edits import describe_first
from tiltyard_gateway.wires.openai import OpenAIWire, is_premium, split_usage
from tiltyard_specs.calls import Wire as WireName
from tiltyard_specs.usage import Usage

_SYSTEM = frozenset({"system", "developer"})


class ChatReading:
    """Usage stands in a chunk of its own before `[DONE]`, or, with some providers, in every chunk."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.error: str | None = None
        self._usage: Usage | None = None
        self._in_stream = False
        self._ended = False
        self._done = False

    @property
    def finished(self) -> bool:
        """Some providers leave `[DONE]` out: an ended choice and usage do as well."""
        return self._done or (self._ended and self._usage is not None)

    @property
    def usage(self) -> Usage | None:
        """Counts within a stream that never ended are no totals."""
        if self._usage and self._in_stream and not (self._done or self._ended):
            return self._usage.model_copy(update={"output": None, "reasoning": None})
        return self._usage

    def on_event(self, name: str, data: bytes) -> None:
        """A chunk, or the word that there are no more."""
        del name
        self._in_stream = True
        if data == b"[DONE]":
            self._done = True
        else:
            self.on_body(parse_object(data))

    def on_body(self, body: Mapping[str, Any]) -> None:
        """A completion or a chunk of one, or an error."""
        self.model = as_text(body.get("model")) or self.model
        self._usage = _usage(as_object(body.get("usage"))) or self._usage
        if any(as_object(choice).get("finish_reason") for choice in as_list(body.get("choices"))):
            self._ended = True
        if body.get("error"):
            self.error = error_text(body) or "error"


def _usage(raw: Mapping[str, Any]) -> Usage | None:
    details = as_object(raw.get("prompt_tokens_details"))
    return split_usage(
        raw.get("prompt_tokens"),
        raw.get("completion_tokens"),
        details.get("cached_tokens", raw.get("prompt_cache_hit_tokens")),
        details,
        as_object(raw.get("completion_tokens_details")),
    )


def _is_usage_chunk(data: bytes) -> bool:
    body = parse_object(data)
    return isinstance(body.get("usage"), dict) and body.get("choices") == []


class ChatWire(OpenAIWire):
    """`POST /v1/chat/completions`, with or without the version segment."""

    name: WireName = "openai-chat"
    routes: tuple[Route, ...] = (Route("POST", re.compile(r"(/v1)?(?P<rest>/chat/completions)"), "billable"),)
    session_headers: tuple[str, ...] = ("x-session-id", "session-id")
    stop_status: int = 404
    """Mini tries again after 400, 402 and 403, and after a 401 it gives advice on keys."""

    def inquire(self, path: str, body: Mapping[str, Any]) -> Inquiry:
        """Each of the `n` choices may be as long as the cap."""
        del path
        cap = largest(body.get("max_completion_tokens"), body.get("max_tokens"))
        asked = body.get("n")
        choices = as_count(asked) or 1
        return Inquiry(
            role=as_text(body.get("model")),
            stream=body.get("stream") is True,
            tools=tuple(filter(None, map(_tool_name, as_list(body.get("tools"))))),
            output_cap=None if cap is None else cap * choices,
            choices=choices,
            refusal=UNREADABLE_CHOICES if asked is not None and as_count(asked) is None else None,
            premium=is_premium(body) or any(kind != "text" for kind in as_list(body.get("modalities"))),
        )

    def reading(self) -> ChatReading:
        """A fresh reader for one response."""
        return ChatReading()

    def report_usage(self, body: dict[str, Any]) -> Hidden | None:
        """A stream reports usage only when asked. The agent did not ask, so the report is kept from it."""
        options = as_object(body.get("stream_options"))
        if body.get("stream") is not True or options.get("include_usage") is True:
            return None
        body["stream_options"] = options | {"include_usage": True}
        return _is_usage_chunk

    def add_nonce(self, body: dict[str, Any], nonce: str) -> None:
        """Before the first tool's description and the system message: their order is not told."""
        describe_first((as_object(as_object(t).get("function")) for t in as_list(body.get("tools"))), nonce)
        messages = as_list(body.get("messages"))
        first = as_object(messages[0]) if messages else {}
        content = first.get("content")
        if first.get("role") in _SYSTEM and isinstance(content, str):
            first["content"] = f"{nonce}\n{content}"
        elif first.get("role") in _SYSTEM and isinstance(content, list):
            content.insert(0, {"type": "text", "text": nonce})
        else:
            body["messages"] = [{"role": "system", "content": nonce}, *messages]

    def strip_hosted(self, body: dict[str, Any]) -> list[str]:
        """Web search is an option of the request; models that always search answer to their name only."""
        return ["web_search_options"] if body.pop("web_search_options", None) is not None else []


def _tool_name(tool: Any) -> str | None:
    item = as_object(tool)
    return as_text(as_object(item.get("function") or item.get("custom")).get("name"))


WIRE = ChatWire()
