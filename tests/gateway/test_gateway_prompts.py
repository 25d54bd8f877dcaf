"""What a run's ticket changes in prompts: caching, a nonce, and tools that reach the web."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import Agent, Kit, Provider
from tiltyard_gateway import GatewayProcess

NONCE = "[nonce-1]"
CHAT_PATH = "/v1/chat/completions"
GEMINI_PATH = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
Begin = Callable[..., Agent]


@pytest.fixture
def begin(gateway: GatewayProcess, provider: Provider, calls_path: Path, kit: type[Kit]) -> Begin:
    """An agent whose run has this ticket."""

    def with_ticket(**more: Any) -> Agent:
        folder = gateway.open_slot("0")
        gateway.begin("0", kit.ticket(calls_path, **more))
        return Agent(folder / "gw.sock")

    return with_ticket


def sent(provider: Provider) -> dict[str, Any]:
    return json.loads(provider.received[-1].body)


def test_anthropic_caching_is_taken_off_and_schemas_are_left_alone(begin: Begin, provider: Provider) -> None:
    agent = begin(prompt_cache="off")
    mark = {"cache_control": {"type": "ephemeral"}}
    schema = {"properties": {"cache_control": {"type": "string"}}}
    nested = {"type": "tool_result", "content": [{"type": "text", "text": "cache_control", **mark}], **mark}
    body = {
        "model": "claude-x",
        "system": [{"type": "text", "text": "s", **mark}],
        "tools": [{"name": "Bash", "input_schema": schema, **mark}],
        "messages": [{"role": "user", "content": [nested]}],
        **mark,
    }
    agent.ask("POST", "/v1/messages", body)

    assert sent(provider) == {
        "model": "claude-x",
        "system": [{"type": "text", "text": "s"}],
        "tools": [{"name": "Bash", "input_schema": schema}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "tool_result", "content": [{"type": "text", "text": "cache_control"}]}],
            }
        ],
    }


def test_without_caching_no_two_openai_calls_begin_alike(begin: Begin, provider: Provider) -> None:
    agent = begin(prompt_cache="off")
    for _ in range(2):
        body = {"model": "gpt-a", "input": "hi", "instructions": "be good", "prompt_cache_key": "k"}
        agent.ask("POST", "/v1/responses", body)
        agent.ask("POST", CHAT_PATH, {"model": "gpt-a", "messages": [{"role": "user", "content": "hi"}]})

    bodies = [json.loads(seen.body) for seen in provider.received]
    begun = {body.get("instructions") or body["messages"][0]["content"] for body in bodies}
    assert len(begun) == 4
    assert bodies[0]["instructions"].endswith("]\nbe good")
    assert "prompt_cache_key" not in bodies[0]


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (
            "/v1/messages",
            {"tools": [{"type": "bash_1", "name": "b"}, {"name": "c", "description": "d"}], "system": "s"},
            {
                "tools": [{"type": "bash_1", "name": "b"}, {"name": "c", "description": f"{NONCE}\nd"}],
                "system": "s",
            },
        ),
        ("/v1/messages", {"system": "s"}, {"system": f"{NONCE}\ns"}),
        ("/v1/messages", {}, {"system": [{"type": "text", "text": NONCE}]}),
        (
            "/v1/responses",
            {"instructions": "i", "tools": [{"name": "t", "description": "d"}]},
            {"instructions": f"{NONCE}\ni", "tools": [{"name": "t", "description": f"{NONCE}\nd"}]},
        ),
        (
            CHAT_PATH,
            {"messages": [{"role": "developer", "content": "s"}]},
            {"messages": [{"role": "developer", "content": f"{NONCE}\ns"}]},
        ),
        (
            CHAT_PATH,
            {"messages": [{"role": "user", "content": "u"}]},
            {"messages": [{"role": "system", "content": NONCE}, {"role": "user", "content": "u"}]},
        ),
        (
            GEMINI_PATH,
            {"systemInstruction": {"role": "user", "parts": [{"text": "s"}]}},
            {"systemInstruction": {"role": "user", "parts": [{"text": NONCE}, {"text": "s"}]}},
        ),
    ],
)
def test_a_nonce_stands_where_the_prompt_begins(
    begin: Begin, provider: Provider, path: str, body: dict[str, Any], expected: dict[str, Any]
) -> None:
    begin(nonce=NONCE).ask("POST", path, {"model": "m", **body})

    assert sent(provider) == {"model": "m", **expected}


@pytest.mark.parametrize(
    ("path", "body", "names", "expected"),
    [
        (
            "/v1/messages",
            {
                "tools": [{"type": "web_search_20250305", "name": "web_search"}, {"name": "Bash"}],
                "mcp_servers": [{"url": "https://x"}],
                "tool_choice": {"type": "tool", "name": "web_search"},
            },
            ("web_search", "mcp_servers"),
            {"tools": [{"name": "Bash"}]},
        ),
        (
            "/v1/messages",
            {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}], "tool_choice": {"type": "auto"}},
            ("web_fetch",),
            {},
        ),
        (
            "/v1/responses",
            {"tools": [{"type": "web_search"}, {"type": "mcp", "server_url": "x"}, {"name": "web_search"}]},
            ("web_search", "mcp"),
            {"tools": [{"name": "web_search"}]},
        ),
        (CHAT_PATH, {"web_search_options": {}}, ("web_search_options",), {}),
        (
            GEMINI_PATH,
            {"tools": [{"googleSearch": {}, "functionDeclarations": [{"name": "f"}]}, {"url_context": {}}]},
            ("googleSearch", "url_context"),
            {"tools": [{"functionDeclarations": [{"name": "f"}]}]},
        ),
    ],
)
def test_tools_that_reach_the_web_by_the_provider_are_stripped_and_recorded(
    begin: Begin,
    gateway: GatewayProcess,
    provider: Provider,
    path: str,
    body: dict[str, Any],
    names: tuple[str, ...],
    expected: dict[str, Any],
) -> None:
    begin(web_tools="strip").ask("POST", path, {"model": "m", **body})

    assert sent(provider) == {"model": "m", **expected}
    (call,) = gateway.end("0").calls
    assert call.stripped == names
