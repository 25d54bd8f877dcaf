"""What each wire reads from requests and responses, and which paths may pass."""

import json
from typing import Any

import pytest

from tiltyard_gateway.wires import Reading, find_route, likely_wire
from tiltyard_gateway.wires.anthropic import WIRE as ANTHROPIC
from tiltyard_gateway.wires.openai_responses import WIRE as RESPONSES
from tiltyard_specs.usage import Usage


def feed(reading: Reading, *events: dict[str, Any]) -> Reading:
    for event in events:
        reading.on_event(event["type"], json.dumps(event).encode())
    return reading


def test_anthropic_usage_is_the_last_word_per_field() -> None:
    start = {
        "input_tokens": 100,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 200,
        "cache_creation": {"ephemeral_5m_input_tokens": 150, "ephemeral_1h_input_tokens": 50},
        "output_tokens": 1,
    }
    reading = feed(
        ANTHROPIC.reading(),
        {"type": "message_start", "message": {"model": "claude-x", "usage": start}},
        {"type": "message_delta", "usage": {"output_tokens": 10}},
        {
            "type": "message_delta",
            "usage": {
                "output_tokens": 40,
                "input_tokens": 101,
                "output_tokens_details": {"thinking_tokens": 7},
            },
        },
        {"type": "message_stop"},
    )

    assert reading.usage == Usage(
        input=101, cache_read=300, cache_write=200, cache_write_1h=50, output=40, reasoning=7
    )
    assert reading.model == "claude-x"
    assert reading.finished


def test_anthropic_output_of_a_stream_without_its_end_is_unknown() -> None:
    """message_start counts one token of output, which is no total."""
    reading = feed(
        ANTHROPIC.reading(),
        {
            "type": "message_start",
            "message": {
                "model": "m",
                "usage": {
                    "input_tokens": 9,
                    "output_tokens": 1,
                    "output_tokens_details": {"thinking_tokens": 0},
                },
            },
        },
    )

    assert reading.usage == Usage(input=9)
    assert not reading.finished


def test_an_error_event_in_a_stream_is_seen() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    assert feed(ANTHROPIC.reading(), error).error == "Overloaded"
    assert feed(RESPONSES.reading(), {"type": "error", "message": "server is sad"}).error == "server is sad"


@pytest.mark.parametrize("kind", ["response.completed", "response.incomplete", "response.failed"])
def test_responses_usage_takes_cached_input_apart(kind: str) -> None:
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 400, "cache_write_tokens": 100},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 10},
    }
    reading = feed(RESPONSES.reading(), {"type": kind, "response": {"model": "gpt-a", "usage": usage}})

    assert reading.usage == Usage(input=500, cache_read=400, cache_write=100, output=50, reasoning=10)
    assert reading.finished
    assert (reading.error is not None) == (kind == "response.failed")


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        "many",
        {"input_tokens": None},
        {"input_tokens": -1, "output_tokens": "3"},
        {"input_tokens": True},
    ],
)
def test_malformed_usage_is_unknown_and_never_zero(usage: Any) -> None:
    for wire in (ANTHROPIC, RESPONSES):
        reading = wire.reading()
        reading.on_body({"model": "m", "usage": usage})

        assert reading.usage is None or reading.usage == Usage()


def test_garbage_in_a_stream_does_no_harm() -> None:
    for wire, name in ((ANTHROPIC, "message_delta"), (RESPONSES, "response.completed")):
        reading = wire.reading()
        for data in (b"{", b"[1]", b"null", b'{"usage": 3, "response": [1]}', b"\xff\xfe"):
            reading.on_event(name, data)

        assert reading.usage is None


def test_inquiry_names_model_stream_and_tools() -> None:
    tools = [{"name": "Bash"}, {"type": "web_search_20250305", "name": "web_search"}, {"name": ""}, 3]

    found = ANTHROPIC.inquire("/v1/messages", {"model": "m", "stream": True, "tools": tools})

    assert (found.role, found.stream, found.tools) == ("m", True, ("Bash", "web_search"))


def test_codex_namespaces_are_part_of_tool_names() -> None:
    tools = [
        {"type": "function", "name": "exec_command"},
        {"type": "namespace", "name": "mcp__acme", "tools": [{"type": "function", "name": "find"}]},
        {"type": "web_search"},
    ]

    found = RESPONSES.inquire("/v1/responses", {"model": "m", "tools": tools})

    assert found.tools == ("exec_command", "mcp__acme__find", "web_search")
    assert not found.stream


@pytest.mark.parametrize(
    ("method", "path", "wire", "kind", "rest"),
    [
        ("POST", "/v1/messages", "anthropic", "billable", "/messages"),
        ("POST", "/v1/messages/count_tokens", "anthropic", "free", "/messages/count_tokens"),
        ("POST", "/v1/responses", "openai-responses", "billable", "/responses"),
        ("POST", "/responses", "openai-responses", "billable", "/responses"),
        ("GET", "/v1/models", "openai-responses", "free", "/models"),
        ("GET", "/v1/models/gpt-a", "openai-responses", "free", "/models/gpt-a"),
    ],
)
def test_known_paths_have_a_route(method: str, path: str, wire: str, kind: str, rest: str) -> None:
    match = find_route(method, path, {})

    assert match is not None
    assert (match.wire.name, match.route.kind, match.rest) == (wire, kind, rest)


def test_shared_paths_are_told_apart_by_a_header() -> None:
    match = find_route("GET", "/v1/models", {"anthropic-version": "2023-06-01"})

    assert match is not None
    assert match.wire.name == "anthropic"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/messages"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/messages/"),
        ("POST", "/v1//messages"),
        ("POST", "/v1/responses/../files"),
        ("POST", "/v1/models"),
        ("POST", "/v1/embeddings"),
        ("GET", "/v1/models/a/b"),
        ("DELETE", "/v1/responses"),
        ("POST", "/v1/messages\n"),
    ],
)
def test_other_paths_have_none(method: str, path: str) -> None:
    assert find_route(method, path, {}) is None


def test_errors_speak_the_language_of_the_asker() -> None:
    assert likely_wire({"anthropic-version": "1"}).error_body(404, "no")["error"]["type"] == "not_found_error"
    assert likely_wire({}).error_body(401, "no")["error"] == {
        "message": "no",
        "type": "authentication_error",
        "param": None,
        "code": None,
    }
