"""The scripted server's OpenAI Responses."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from tiltyard_gateway.scripted.dialect import Offer, Piece, Reply, Request, pieces, sse
from tiltyard_gateway.wires.base import as_list, as_object, as_text
from tiltyard_gateway.wires.openai_responses import WIRE
from tiltyard_specs.usage import Usage

_SPOKEN = frozenset({"function_call", "custom_tool_call", "local_shell_call", "reasoning", "web_search_call"})


class ResponsesDialect:
    """`POST /v1/responses`."""

    paths: tuple[str, ...] = ("/v1/responses", "/responses")

    def read(self, path: str, body: Mapping[str, Any]) -> Request:
        """The model has spoken once for each unbroken stretch of its own items."""
        del path
        items = _items(body.get("input"))
        texts = ["\n".join(_texts(item.get("content"))) for item in items if item.get("role") == "user"]
        return Request(
            model=as_text(body.get("model")) or "",
            stream=body.get("stream") is True,
            prompt="\n".join(texts),
            opening=texts[0] if texts else "",
            length=len(json.dumps(items)),
            turn=_spoken(items),
            tools=tuple(_offers(as_list(body.get("tools")))),
            structured=as_object(as_object(body.get("text")).get("format")).get("type")
            in {"json_schema", "json_object"},
        )

    def whole(self, reply: Reply) -> dict[str, Any]:
        """A finished response object."""
        return _response(reply, "completed", _output(reply), usage=True)

    def stream(self, reply: Reply) -> Iterator[Piece]:
        """As the API streams: each item added, filled and done; usage in the last event."""
        number = count()
        for event, paced in _events(reply):
            yield sse(event | {"sequence_number": next(number)}, paced=paced)

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An error body."""
        return WIRE.error_body(status, message)


def _items(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return [as_object(item) for item in as_list(value)]


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in map(as_object, as_list(content)) if isinstance(part.get("text"), str)]


def _spoken(items: list[dict[str, Any]]) -> int:
    own = [item.get("role") == "assistant" or item.get("type") in _SPOKEN for item in items]
    return sum(1 for before, now in zip([False, *own], own, strict=False) if now and not before)


def _offers(tools: list[Any], namespace: str | None = None) -> Iterator[Offer]:
    for tool in map(as_object, tools):
        name = as_text(tool.get("name")) or as_text(tool.get("type")) or ""
        if tool.get("type") == "namespace":
            yield from _offers(as_list(tool.get("tools")), namespace=name)
        elif name:
            yield Offer(name, as_object(tool.get("parameters")), namespace)


def _output(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text is not None:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append(
            {
                "id": f"msg_{reply.number}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    if reply.call:
        items.append(
            {
                "id": f"fc_{reply.number}",
                "type": "function_call",
                "call_id": f"call_{reply.number}",
                "name": reply.call.name,
                "arguments": json.dumps(reply.call.arguments),
                "status": "completed",
                **({"namespace": reply.call.namespace} if reply.call.namespace else {}),
            }
        )
    return items


def _response(
    reply: Reply, status: str, output: list[dict[str, Any]], *, usage: bool = False
) -> dict[str, Any]:
    return {
        "id": f"resp_{reply.number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "model": reply.model,
        "output": output,
        "error": None,
        "incomplete_details": None,
        "parallel_tool_calls": False,
        "usage": _usage(reply.usage) if usage and reply.usage else None,
    }


def _events(reply: Reply) -> Iterator[tuple[dict[str, Any], bool]]:
    started = _response(reply, "in_progress", [])
    yield {"type": "response.created", "response": started}, False
    yield {"type": "response.in_progress", "response": started}, False
    output = _output(reply)
    for index, item in enumerate(output):
        yield from _item_events(index, item)
    yield {"type": "response.completed", "response": _response(reply, "completed", output, usage=True)}, False


def _item_events(index: int, item: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    is_text = item["type"] == "message"
    place = {"output_index": index, "item_id": item["id"]}
    unfilled: dict[str, Any] = {"content": []} if is_text else {"arguments": ""}
    empty = item | {"status": "in_progress"} | unfilled
    yield {"type": "response.output_item.added", "output_index": index, "item": empty}, False
    yield from (
        _text_events(place, item["content"][0]) if is_text else _argument_events(place, item["arguments"])
    )
    yield {"type": "response.output_item.done", "output_index": index, "item": item}, False


def _text_events(place: dict[str, Any], part: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    place = place | {"content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": part | {"text": ""}}, False
    for piece in pieces(part["text"]):
        yield {"type": "response.output_text.delta", **place, "delta": piece}, True
    yield {"type": "response.output_text.done", **place, "text": part["text"]}, False
    yield {"type": "response.content_part.done", **place, "part": part}, False


def _argument_events(place: dict[str, Any], arguments: str) -> Iterator[tuple[dict[str, Any], bool]]:
    for piece in pieces(arguments):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}, True
    yield {"type": "response.function_call_arguments.done", **place, "arguments": arguments}, False


def _usage(usage: Usage) -> dict[str, Any]:
    """Input includes what the cache served and took."""
    read, written = usage.cache_read or 0, usage.cache_write or 0
    entered = (usage.input or 0) + read + written
    return {
        "input_tokens": entered,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "output_tokens": usage.output or 0,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": entered + (usage.output or 0),
    }


DIALECT = ResponsesDialect()
