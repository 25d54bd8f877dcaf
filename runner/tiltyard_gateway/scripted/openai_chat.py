"""The scripted server's OpenAI Chat Completions."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tiltyard_gateway.scripted.dialect import Offer, Piece, Reply, Request, data_only, pieces
from tiltyard_gateway.wires.base import as_list, as_object, as_text
from tiltyard_gateway.wires.openai_chat import WIRE
from tiltyard_specs.usage import Usage


class ChatDialect:
    """`POST /v1/chat/completions`."""

    paths: tuple[str, ...] = ("/v1/chat/completions", "/chat/completions")

    def read(self, path: str, body: Mapping[str, Any]) -> Request:
        """The model has spoken as often as there are assistant messages."""
        del path
        messages = [as_object(item) for item in as_list(body.get("messages"))]
        texts = [_text(message.get("content")) for message in messages if message.get("role") == "user"]
        return Request(
            model=as_text(body.get("model")) or "",
            stream=body.get("stream") is True,
            prompt="\n".join(texts),
            opening=texts[0] if texts else "",
            length=len(json.dumps(messages)),
            turn=sum(1 for message in messages if message.get("role") == "assistant"),
            tools=tuple(_offers(as_list(body.get("tools")))),
            structured=as_object(body.get("response_format")).get("type") in {"json_schema", "json_object"},
            wants_usage=as_object(body.get("stream_options")).get("include_usage") is True,
        )

    def whole(self, reply: Reply) -> dict[str, Any]:
        """A completion."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
        if reply.call:
            message["tool_calls"] = [_call(reply, json.dumps(reply.call.arguments))]
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(reply), "logprobs": None}
        usage = {"usage": _usage(reply.usage)} if reply.usage else {}
        return _head(reply, "chat.completion") | {"choices": [choice]} | usage

    def stream(self, reply: Reply) -> Iterator[Piece]:
        """As the API streams: usage in a chunk of its own, and only when asked for."""
        yield _chunk(reply, {"role": "assistant", "content": "" if reply.text is not None else None})
        for text in pieces(reply.text) if reply.text is not None else []:
            yield _chunk(reply, {"content": text}, paced=True)
        if reply.call:
            yield _chunk(reply, {"tool_calls": [{"index": 0, **_call(reply, "")}]})
            for piece in pieces(json.dumps(reply.call.arguments)):
                call = {"index": 0, "function": {"arguments": piece}}
                yield _chunk(reply, {"tool_calls": [call]}, paced=True)
        yield _chunk(reply, {}, finish_reason=_finish_reason(reply))
        if reply.usage:
            head = _head(reply, "chat.completion.chunk")
            yield data_only(head | {"choices": [], "usage": _usage(reply.usage)})
        yield Piece(b"data: [DONE]\n\n")

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An error body."""
        return WIRE.error_body(status, message)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = map(as_object, as_list(content))
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _offers(tools: list[Any]) -> Iterator[Offer]:
    for tool in map(as_object, tools):
        function = as_object(tool.get("function"))
        if name := as_text(function.get("name")):
            yield Offer(name, as_object(function.get("parameters")))


def _head(reply: Reply, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{reply.number}",
        "object": kind,
        "created": 1_700_000_000,
        "model": reply.model,
    }


def _chunk(
    reply: Reply, delta: dict[str, Any], *, finish_reason: str | None = None, paced: bool = False
) -> Piece:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    unasked = {"usage": None} if reply.usage else {}
    return data_only(_head(reply, "chat.completion.chunk") | {"choices": [choice]} | unasked, paced=paced)


def _call(reply: Reply, arguments: str) -> dict[str, Any]:
    name = reply.call.name if reply.call else ""
    return {
        "id": f"call_{reply.number}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _finish_reason(reply: Reply) -> str:
    return "tool_calls" if reply.call else "stop"


def _usage(usage: Usage) -> dict[str, Any]:
    """The prompt includes what the cache served and took."""
    read, written = usage.cache_read or 0, usage.cache_write or 0
    entered = (usage.input or 0) + read + written
    return {
        "prompt_tokens": entered,
        "completion_tokens": usage.output or 0,
        "total_tokens": entered + (usage.output or 0),
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
    }


DIALECT = ChatDialect()
