"""The scripted server's Gemini API."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tiltyard_gateway.scripted.dialect import Offer, Piece, Reply, Request, data_only, pieces
from tiltyard_gateway.wires.base import as_list, as_object, as_text
from tiltyard_gateway.wires.gemini import WIRE, either
from tiltyard_specs.usage import Usage

_CALL = re.compile(r".*/models/(?P<model>[^/:]+):(?P<verb>\w+)")
_VERBS = "generateContent|streamGenerateContent"


class GeminiDialect:
    """`POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent?alt=sse`."""

    paths: tuple[str, ...] = tuple(
        f"/{version}/models/{{model:[^/:]+}}:{{verb:{_VERBS}}}" for version in ("v1beta", "v1")
    )

    def read(self, path: str, body: Mapping[str, Any]) -> Request:
        """The model has spoken once for each unbroken stretch of its own contents."""
        found = _CALL.fullmatch(path)
        contents = [as_object(item) for item in as_list(body.get("contents"))]
        texts = ["\n".join(_texts(item)) for item in contents if item.get("role", "user") == "user"]
        settings = as_object(either(body, "generationConfig"))
        return Request(
            model=found["model"] if found else "",
            stream=found is not None and found["verb"].startswith("stream"),
            prompt="\n".join(texts),
            opening=texts[0] if texts else "",
            length=len(json.dumps(contents)),
            turn=_spoken(contents),
            tools=tuple(_offers(as_list(body.get("tools")))),
            structured=either(settings, "responseMimeType") == "application/json",
        )

    def whole(self, reply: Reply) -> dict[str, Any]:
        """A response."""
        parts: list[dict[str, Any]] = [] if reply.text is None else [{"text": reply.text}]
        return _response(reply, [*parts, *_calls(reply)], ended=True)

    def stream(self, reply: Reply) -> Iterator[Piece]:
        """As the API streams: response objects, of which the last has the reason to end and the usage."""
        for text in pieces(reply.text) if reply.text else []:
            yield data_only(_response(reply, [{"text": text}]), paced=True)
        yield data_only(_response(reply, _calls(reply) or [{"text": ""}], ended=True))

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An error body."""
        return WIRE.error_body(status, message)


def _texts(content: Mapping[str, Any]) -> list[str]:
    parts = map(as_object, as_list(content.get("parts")))
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def _spoken(contents: list[dict[str, Any]]) -> int:
    own = [item.get("role") == "model" for item in contents]
    return sum(1 for before, now in zip([False, *own], own, strict=False) if now and not before)


def _offers(tools: list[Any]) -> Iterator[Offer]:
    for tool in map(as_object, tools):
        for function in map(as_object, as_list(either(tool, "functionDeclarations"))):
            if name := as_text(function.get("name")):
                schema = either(function, "parametersJsonSchema") or function.get("parameters")
                yield Offer(name, as_object(schema))


def _calls(reply: Reply) -> list[dict[str, Any]]:
    if reply.call is None:
        return []
    return [{"functionCall": {"name": reply.call.name, "args": reply.call.arguments}}]


def _response(reply: Reply, parts: list[dict[str, Any]], *, ended: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if ended:
        candidate["finishReason"] = "STOP"
    usage = {"usageMetadata": _usage(reply.usage)} if reply.usage and ended else {}
    return {
        "candidates": [candidate],
        "modelVersion": reply.model,
        "responseId": f"resp-{reply.number}",
        **usage,
    }


def _usage(usage: Usage) -> dict[str, int]:
    """The prompt includes what the cache served; candidates leave thoughts out; zeros are not written."""
    entered = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    thoughts = usage.reasoning or 0
    counts = {
        "promptTokenCount": entered,
        "cachedContentTokenCount": usage.cache_read or 0,
        "candidatesTokenCount": (usage.output or 0) - thoughts,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": entered + (usage.output or 0),
    }
    return {name: count for name, count in counts.items() if count}


DIALECT = GeminiDialect()
