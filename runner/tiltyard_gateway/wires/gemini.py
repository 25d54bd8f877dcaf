"""Google's Gemini API. Its JSON is protobuf's: zeros are left out, and names come in camel or snake case."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tiltyard_gateway.wires.base import (
    TWO_SPELLINGS,
    UNREADABLE_CHOICES,
    BodyWire,
    Inquiry,
    Route,
    as_count,
    as_list,
    as_object,
    as_text,
    error_text,
    in_two_spellings,
    parse_object,
)
from tiltyard_gateway.wires.edits import describe_first
from tiltyard_specs.calls import Wire as WireName
from tiltyard_specs.usage import Usage

_VERSION = r"/v1(beta|alpha)?"
_MODEL = r"[\w.@-]+"
_CALL = re.compile(rf".*/models/(?P<model>{_MODEL}):(?P<verb>\w+)")
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_LIST_PRICE_TIERS = frozenset({"standard", "unspecified", "flex"})
_WEB_TOOLS = frozenset({
    "googleSearch", "google_search", "googleSearchRetrieval", "google_search_retrieval",
    "urlContext", "url_context", "googleMaps", "google_maps",
})  # fmt: skip


class GeminiReading:
    """Each chunk reports usage so far; the one that says why the answer ended has the whole."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.error: str | None = None
        self._usage: Usage | None = None
        self._ended = False

    @property
    def finished(self) -> bool:
        """There is no last event but the one with a reason to end."""
        return self._ended

    @property
    def usage(self) -> Usage | None:
        """Counts of output before the end are no totals."""
        if self._usage and not self._ended:
            return self._usage.model_copy(update={"output": None, "reasoning": None})
        return self._usage

    def on_event(self, name: str, data: bytes) -> None:
        """A chunk is a whole response object."""
        del name
        self.on_body(parse_object(data))

    def on_body(self, body: Mapping[str, Any]) -> None:
        """A response, a chunk of one, or an error."""
        self.model = as_text(body.get("modelVersion")) or self.model
        self._usage = _usage(as_object(body.get("usageMetadata"))) or self._usage
        candidates = map(as_object, as_list(body.get("candidates")))
        blocked = as_object(body.get("promptFeedback")).get("blockReason")
        if blocked or any(candidate.get("finishReason") for candidate in candidates):
            self._ended = True
        if body.get("error"):
            self.error = error_text(body) or "error"


def _usage(raw: Mapping[str, Any]) -> Usage | None:
    """The prompt includes what the cache served; candidates leave thoughts out. What is left out is zero."""
    prompt = as_count(raw.get("promptTokenCount"))
    if prompt is None:
        return None
    cached = as_count(raw.get("cachedContentTokenCount", 0))
    thoughts = as_count(raw.get("thoughtsTokenCount", 0))
    said = as_count(raw.get("candidatesTokenCount", 0))
    of_tools = as_count(raw.get("toolUsePromptTokenCount", 0))
    fresh = None if cached is None or of_tools is None else prompt - cached + of_tools
    return Usage(
        input=as_count(fresh),
        cache_read=cached,
        output=None if said is None or thoughts is None else said + thoughts,
        reasoning=thoughts,
    )


class GeminiWire(BodyWire):
    """`POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`, and their free neighbours."""

    name: WireName = "gemini"
    provider: str = "gemini"
    routes: tuple[Route, ...] = (
        Route(
            "POST",
            re.compile(rf"{_VERSION}(?P<rest>/models/{_MODEL}:(generateContent|streamGenerateContent))"),
            "billable",
        ),
        Route("POST", re.compile(rf"{_VERSION}(?P<rest>/models/{_MODEL}:countTokens)"), "free"),
        Route("GET", re.compile(rf"/v1(beta|alpha)(?P<rest>/models(/{_MODEL})?)"), "free"),
        Route("GET", re.compile(rf"/v1(?P<rest>/models(/{_MODEL})?)"), "free", marker="x-goog-api-key"),
    )
    session_headers: tuple[str, ...] = ()
    stop_status: int = 403

    def inquire(self, path: str, body: Mapping[str, Any]) -> Inquiry:
        """Model and kind of answer stand in the path."""
        found = _CALL.fullmatch(path)
        settings = as_object(either(body, "generationConfig"))
        cap = as_count(either(settings, "maxOutputTokens"))
        asked = either(settings, "candidateCount")
        choices = as_count(asked) or 1
        return Inquiry(
            role=found["model"] if found else None,
            stream=found is not None and found["verb"].startswith("stream"),
            tools=tuple(_tool_names(as_list(body.get("tools")))),
            output_cap=None if cap is None else cap * choices,
            choices=choices,
            refusal=_refusal(settings, asked),
            premium=_is_premium(body, settings),
        )

    def key_headers(self, key: str) -> dict[str, str]:
        """Google's own header."""
        return {"x-goog-api-key": key}

    def reading(self) -> GeminiReading:
        """A fresh reader for one response."""
        return GeminiReading()

    def error_body(self, status: int, message: str, reason: str | None = None) -> dict[str, Any]:
        """`{"error": {"code": ..., "status": ...}}`."""
        del reason
        kind = _STATUSES.get(status, "FAILED_PRECONDITION")
        return {"error": {"code": status, "message": message, "status": kind}}

    def set_model(self, rest: str, body: dict[str, Any], model: str) -> str:
        """The path names it."""
        del body
        return re.sub(rf"/models/{_MODEL}:", lambda _: f"/models/{model}:", rest, count=1)

    def forbid_cache(self, body: dict[str, Any], nonce: str) -> None:
        """Caching is implicit: with a prompt that begins differently nothing is found."""
        self.add_nonce(body, nonce)

    def add_nonce(self, body: dict[str, Any], nonce: str) -> None:
        """Before the first function's description and the system instruction: their order is not told."""
        describe_first(_functions(as_list(body.get("tools"))), nonce)
        name = "system_instruction" if "system_instruction" in body else "systemInstruction"
        found = body.get(name)
        if isinstance(found, str):
            found = {"parts": [{"text": found}]}
        instruction = as_object(found)
        parts = instruction.get("parts")
        before = parts if isinstance(parts, list) else [parts] if isinstance(parts, dict) else []
        body[name] = instruction | {"parts": [{"text": nonce}, *before]}

    def strip_hosted(self, body: dict[str, Any]) -> list[str]:
        """Search, pages and maps are tools without a name of their own."""
        names: list[str] = []
        kept: list[Any] = []
        for tool in as_list(body.get("tools")):
            rest = {key: value for key, value in as_object(tool).items() if key not in _WEB_TOOLS}
            names += [key for key in as_object(tool) if key in _WEB_TOOLS]
            if rest or not as_object(tool):
                kept.append(rest or tool)
        if names:
            body["tools"] = kept
        return names


def either(body: Mapping[str, Any], camel: str) -> Any:
    """A value by its camel-case name or the snake-case form of it."""
    snake = re.sub("[A-Z]", lambda match: "_" + match[0].lower(), camel)
    return body.get(camel, body.get(snake))


def _refusal(settings: Mapping[str, Any], choices: Any) -> str | None:
    if in_two_spellings(settings):
        return TWO_SPELLINGS
    return UNREADABLE_CHOICES if choices is not None and as_count(choices) is None else None


def _is_premium(body: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Pictures and sound have prices of their own, and so has the front of the queue."""
    kinds = as_list(either(settings, "responseModalities"))
    tier = str(either(body, "serviceTier") or "standard").lower().removeprefix("service_tier_")
    return tier not in _LIST_PRICE_TIERS or any(str(kind).lower() != "text" for kind in kinds)


def _functions(tools: list[Any]) -> Iterator[dict[str, Any]]:
    for tool in map(as_object, tools):
        yield from map(as_object, as_list(either(tool, "functionDeclarations")))


def _tool_names(tools: list[Any]) -> Iterator[str]:
    for function in _functions(tools):
        if name := as_text(function.get("name")):
            yield name
    for tool in map(as_object, tools):
        yield from (key for key in tool if key not in {"functionDeclarations", "function_declarations"})


WIRE = GeminiWire()
