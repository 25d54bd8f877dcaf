"""What Chat Completions and Gemini say of usage, model and end, and which of their paths may pass."""

import json
from typing import Any

import pytest

from tiltyard_gateway.wires import Reading, find_route, likely_wire
from tiltyard_gateway.wires.gemini import WIRE as GEMINI
from tiltyard_gateway.wires.openai_chat import WIRE as CHAT
from tiltyard_specs.usage import Usage

CHAT_USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 10},
}
GEMINI_USAGE = {
    "promptTokenCount": 700,
    "cachedContentTokenCount": 300,
    "candidatesTokenCount": 60,
    "thoughtsTokenCount": 15,
    "totalTokenCount": 775,
}


def feed(reading: Reading, *events: dict[str, Any] | bytes) -> Reading:
    for event in events:
        reading.on_event("", event if isinstance(event, bytes) else json.dumps(event).encode())
    return reading


def chunk(text: str = "", finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "model": "gpt-a-1",
        "choices": [{"delta": {"content": text}, "finish_reason": finish}],
        "usage": None,
    } | more


def part(text: str, finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate = {"content": {"parts": [{"text": text}]}} | ({"finishReason": finish} if finish else {})
    return {"candidates": [candidate], "modelVersion": "gemini-x-001"} | more


def test_chat_usage_takes_cached_input_apart() -> None:
    reading = feed(
        CHAT.reading(), chunk("a"), chunk("b", "stop"), {"choices": [], "usage": CHAT_USAGE}, b"[DONE]"
    )

    assert reading.usage == Usage(input=600, cache_read=400, output=50, reasoning=10)
    assert (reading.model, reading.finished, reading.error) == ("gpt-a-1", True, None)


def test_chat_counts_before_the_end_are_no_totals() -> None:
    """Some providers report usage so far in every chunk."""
    reading = feed(CHAT.reading(), chunk("a", usage={"prompt_tokens": 9, "completion_tokens": 1}))
    assert (reading.usage, reading.finished) == (Usage(input=9), False)

    feed(reading, chunk("b", "stop", usage={"prompt_tokens": 9, "completion_tokens": 2}))
    assert (reading.usage, reading.finished) == (Usage(input=9, output=2), True)


def test_chat_without_usage_is_finished_only_when_it_says_so() -> None:
    reading = feed(CHAT.reading(), chunk("a", "stop"))
    assert not reading.finished
    feed(reading, b"[DONE]")

    assert (reading.finished, reading.usage) == (True, None)


def test_deepseeks_name_for_cached_input() -> None:
    reading = CHAT.reading()
    reading.on_body(
        {"usage": {"prompt_tokens": 10, "prompt_cache_hit_tokens": 4, "completion_tokens": 1}, "choices": []}
    )

    assert reading.usage == Usage(input=6, cache_read=4, output=1)


def test_gemini_output_is_candidates_and_thoughts() -> None:
    first = part("a", usageMetadata={"promptTokenCount": 700, "candidatesTokenCount": 5})
    reading = feed(GEMINI.reading(), first)
    assert (reading.usage, reading.finished) == (Usage(input=700, cache_read=0), False)
    feed(reading, part("b", "STOP", usageMetadata=GEMINI_USAGE))

    assert reading.usage == Usage(input=400, cache_read=300, output=75, reasoning=15)
    assert (reading.model, reading.finished) == ("gemini-x-001", True)


def test_gemini_leaves_zeros_out_and_adds_what_tools_read() -> None:
    reading = GEMINI.reading()
    reading.on_body(part("", "STOP", usageMetadata={"promptTokenCount": 9, "toolUsePromptTokenCount": 2}))

    assert reading.usage == Usage(input=11, cache_read=0, output=0, reasoning=0)


def test_a_prompt_that_gemini_blocks_is_a_whole_answer() -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}

    assert feed(GEMINI.reading(), body).finished


@pytest.mark.parametrize("usage", [None, {}, [], "x", {"promptTokenCount": "9"}, {"prompt_tokens": -1}])
def test_malformed_usage_is_unknown_and_never_zero(usage: Any) -> None:
    for reading in (CHAT.reading(), GEMINI.reading()):
        reading.on_body({"usage": usage, "usageMetadata": usage})
        assert reading.usage is None


def test_garbage_in_a_stream_does_no_harm() -> None:
    for reading in (CHAT.reading(), GEMINI.reading()):
        feed(reading, b"{", b"[1]", b"null", b'{"choices": 3, "candidates": [1], "error": 0}', b"\xff\xfe")
        assert (reading.usage, reading.finished, reading.error) == (None, False, None)


def test_errors_within_a_stream_are_seen() -> None:
    assert feed(CHAT.reading(), {"error": {"message": "sad"}}).error == "sad"
    assert feed(GEMINI.reading(), {"error": {"code": 503, "message": "full"}}).error == "full"


def test_inquiry_of_chat() -> None:
    tools = [
        {"type": "function", "function": {"name": "bash"}},
        {"type": "custom", "custom": {"name": "x"}},
        3,
    ]
    body = {"model": "m", "stream": True, "tools": tools, "max_tokens": 5, "max_completion_tokens": 7, "n": 3}
    found = CHAT.inquire("/v1/chat/completions", body)

    assert (found.role, found.stream, found.tools, found.output_cap) == ("m", True, ("bash", "x"), 21)


@pytest.mark.parametrize("snake", [False, True])
def test_inquiry_of_gemini_in_either_spelling(snake: bool) -> None:
    functions = [{"name": "read_file"}]
    tools = [{"function_declarations" if snake else "functionDeclarations": functions}, {"googleSearch": {}}]
    settings = (
        {"generation_config": {"max_output_tokens": 9, "candidate_count": 2}}
        if snake
        else {"generationConfig": {"maxOutputTokens": 9, "candidateCount": 2}}
    )
    path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
    found = GEMINI.inquire(path, {"tools": tools, **settings})

    assert (found.role, found.stream, found.output_cap) == ("gemini-2.5-pro", True, 18)
    assert found.tools == ("read_file", "googleSearch")


@pytest.mark.parametrize(
    ("method", "path", "wire", "kind", "rest"),
    [
        ("POST", "/v1/chat/completions", "openai-chat", "billable", "/chat/completions"),
        ("POST", "/chat/completions", "openai-chat", "billable", "/chat/completions"),
        ("POST", "/v1beta/models/g-1:generateContent", "gemini", "billable", "/models/g-1:generateContent"),
        (
            "POST",
            "/v1/models/g-1:streamGenerateContent",
            "gemini",
            "billable",
            "/models/g-1:streamGenerateContent",
        ),
        ("POST", "/v1beta/models/g-1:countTokens", "gemini", "free", "/models/g-1:countTokens"),
        ("GET", "/v1beta/models", "gemini", "free", "/models"),
        ("GET", "/v1beta/models/g-1", "gemini", "free", "/models/g-1"),
    ],
)
def test_known_paths_have_a_route(method: str, path: str, wire: str, kind: str, rest: str) -> None:
    match = find_route(method, path, {})

    assert match is not None
    assert (match.wire.name, match.route.kind, match.rest) == (wire, kind, rest)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/completions",
        "/v1/chat/completions/",
        "/v1beta/models/g-1:batchGenerateContent",
        "/v1beta/models/g-1:embedContent",
        "/v1beta/cachedContents",
        "/v1beta/models/a/b:generateContent",
        "/upload/v1beta/files",
    ],
)
def test_other_paths_have_none(path: str) -> None:
    assert find_route("POST", path, {}) is None


def test_a_model_list_with_googles_key_is_googles() -> None:
    match = find_route("GET", "/v1/models", {"x-goog-api-key": "k"})

    assert match is not None
    assert match.wire is GEMINI
    assert likely_wire({"x-goog-api-key": "k"}).error_body(404, "no") == {
        "error": {"code": 404, "message": "no", "status": "NOT_FOUND"}
    }
