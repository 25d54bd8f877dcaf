"""The scripted server's Anthropic Messages."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tiltyard_gateway.scripted.dialect import Offer, Piece, Reply, Request, pieces, sse
from tiltyard_gateway.wires.anthropic import WIRE
from tiltyard_gateway.wires.base import as_list, as_object, as_text
from tiltyard_specs.usage import Usage


class AnthropicDialect:
    """`POST /v1/messages`."""

    paths: tuple[str, ...] = ("/v1/messages", "/messages")

    def read(self, path: str, body: Mapping[str, Any]) -> Request:
        """The model has spoken as often as there are assistant messages."""
        del path
        messages = [as_object(item) for item in as_list(body.get("messages"))]
        texts = [_texts(message.get("content")) for message in messages if message.get("role") == "user"]
        return Request(
            model=as_text(body.get("model")) or "",
            stream=body.get("stream") is True,
            prompt="\n".join(text for group in texts for text in group),
            opening="\n".join(texts[0]) if texts else "",
            length=len(json.dumps(messages)),
            turn=sum(1 for message in messages if message.get("role") == "assistant"),
            tools=tuple(_offers(as_list(body.get("tools")))),
            structured="format" in as_object(body.get("output_config")) or "output_format" in body,
        )

    def whole(self, reply: Reply) -> dict[str, Any]:
        """A message."""
        return _message(reply) | {
            "content": _blocks(reply),
            "stop_reason": _stop_reason(reply),
            **({"usage": _usage(reply.usage)} if reply.usage else {}),
        }

    def stream(self, reply: Reply) -> Iterator[Piece]:
        """As the API streams: usage of the input first, the cumulative whole last."""
        usage = {"usage": _usage(reply.usage) | {"output_tokens": 1}} if reply.usage else {}
        yield sse({"type": "message_start", "message": _message(reply) | usage})
        yield sse({"type": "ping"})
        for index, block in enumerate(_blocks(reply)):
            yield from _block_events(index, block)
        delta = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
        final = {"usage": _usage(reply.usage)} if reply.usage else {}
        yield sse({"type": "message_delta", "delta": delta, **final})
        yield sse({"type": "message_stop"})

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An error body."""
        return WIRE.error_body(status, message)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in map(as_object, as_list(content)) if isinstance(block.get("text"), str)]


def _offers(tools: list[Any]) -> Iterator[Offer]:
    for tool in map(as_object, tools):
        if name := as_text(tool.get("name")):
            yield Offer(name, as_object(tool.get("input_schema")))


def _message(reply: Reply) -> dict[str, Any]:
    return {
        "id": f"msg_{reply.number}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.text is not None:
        blocks.append({"type": "text", "text": reply.text})
    if reply.call:
        name = reply.call.name
        identity = f"toolu_{reply.number}"
        blocks.append({"type": "tool_use", "id": identity, "name": name, "input": reply.call.arguments})
    return blocks


def _block_events(index: int, block: dict[str, Any]) -> Iterator[Piece]:
    is_text = block["type"] == "text"
    field, kind = ("text", "text_delta") if is_text else ("partial_json", "input_json_delta")
    unfilled: dict[str, Any] = {"text": ""} if is_text else {"input": {}}
    empty = block | unfilled
    yield sse({"type": "content_block_start", "index": index, "content_block": empty})
    for piece in pieces(block["text"] if is_text else json.dumps(block["input"])):
        delta = {"type": kind, field: piece}
        yield sse({"type": "content_block_delta", "index": index, "delta": delta}, paced=True)
    yield sse({"type": "content_block_stop", "index": index})


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.call else "end_turn"


def _usage(usage: Usage) -> dict[str, Any]:
    written, hour = usage.cache_write or 0, usage.cache_write_1h or 0
    return {
        "input_tokens": usage.input or 0,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cache_read or 0,
        "cache_creation": {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour},
        "output_tokens": usage.output or 0,
        "output_tokens_details": {"thinking_tokens": usage.reasoning or 0},
        "service_tier": "standard",
    }


DIALECT = AnthropicDialect()
