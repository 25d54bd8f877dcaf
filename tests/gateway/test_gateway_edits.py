"""What changes on the way: models, logins and usage reports; and what is too ambiguous to pass."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import Agent, Exchange, Kit, Provider
from tiltyard_gateway import GatewayProcess
from tiltyard_specs.usage import Usage

CHAT_PATH = "/v1/chat/completions"
GEMINI_PATH = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"


def data(*chunks: dict[str, Any] | str) -> list[bytes]:
    return [f"data: {c if isinstance(c, str) else json.dumps(c)}\n\n".encode() for c in chunks]


CHAT_STREAM = data(
    {"model": "gpt-a", "choices": [{"delta": {"content": "4"}, "finish_reason": None}], "usage": None},
    {"model": "gpt-a", "choices": [{"delta": {"content": "2"}, "finish_reason": "stop"}], "usage": None},
    {"model": "gpt-a", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
    "[DONE]",
)
GEMINI_CHUNK = {
    "candidates": [{"content": {"parts": [{"text": "42"}]}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 3},
    "modelVersion": "gemini-2.5-pro",
}
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


def answer_with(events: list[bytes]) -> Callable[[Exchange], None]:
    def behaviour(exchange: Exchange) -> None:
        if b'"stream"' in exchange.server.provider.received[-1].body or "stream" in exchange.path:
            exchange.stream(events)
        else:
            exchange.answer(200, {"model": "gpt-a", "choices": [], "usage": {"prompt_tokens": 9}})

    return behaviour


@pytest.mark.parametrize("asked", [True, False])
def test_chat_streams_always_report_usage_and_agents_see_what_they_asked_for(
    begin: Begin,
    gateway: GatewayProcess,
    provider: Provider,
    asked: bool,
) -> None:
    agent = begin()
    provider.behaviour = answer_with(CHAT_STREAM)
    options = {"stream_options": {"include_usage": True}} if asked else {}
    answer = agent.ask("POST", CHAT_PATH, {"model": "gpt-a", "stream": True, "messages": [], **options})

    assert sent(provider)["stream_options"] == {"include_usage": True}
    expected = CHAT_STREAM if asked else CHAT_STREAM[:2] + CHAT_STREAM[3:]
    assert answer.body == b"".join(expected)
    (call,) = gateway.end("0").calls
    assert (call.outcome, call.usage, call.wire) == ("ok", Usage(input=9, output=2), "openai-chat")


def test_a_usage_chunk_cut_anywhere_is_still_kept_from_the_agent(begin: Begin, provider: Provider) -> None:
    agent = begin()
    whole = b"".join(CHAT_STREAM)
    provider.behaviour = answer_with([whole[start : start + 7] for start in range(0, len(whole), 7)])
    answer = agent.ask("POST", CHAT_PATH, {"model": "gpt-a", "stream": True, "messages": []})

    assert answer.body == b"".join(CHAT_STREAM[:2] + CHAT_STREAM[3:])


def test_what_nothing_changes_passes_byte_for_byte(begin: Begin, provider: Provider) -> None:
    agent = begin()
    body = b'{ "model":"gpt-a",  "messages": [ ], "temperature": 1.0e0 }'
    agent.ask("POST", CHAT_PATH, body)

    assert provider.received[-1].body == body


def test_gemini_is_metered(begin: Begin, gateway: GatewayProcess, provider: Provider, kit: type[Kit]) -> None:
    agent = begin()
    provider.behaviour = answer_with(data(GEMINI_CHUNK))
    agent.key = ""
    answer = agent.ask("POST", GEMINI_PATH, {"contents": []}, x_goog_api_key=kit.PLACEBO)

    assert answer.body == data(GEMINI_CHUNK)[0]
    seen = provider.received[-1]
    assert seen.path == "/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    assert seen.headers["x-goog-api-key"] == kit.REAL_KEY
    (call,) = gateway.end("0").calls
    assert (call.role, call.usage) == ("gemini-2.5-pro", Usage(input=9, cache_read=0, output=5, reasoning=3))


def test_gemini_without_events_streams_a_list(
    begin: Begin, gateway: GatewayProcess, provider: Provider
) -> None:
    agent = begin()

    def as_json(exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("Content-Type", "application/json")
        exchange.send_header("Transfer-Encoding", "chunked")
        exchange.end_headers()
        exchange.chunk(json.dumps([GEMINI_CHUNK | {"usageMetadata": {}}, GEMINI_CHUNK]).encode())
        exchange.chunk(b"")

    provider.behaviour = as_json
    agent.ask("POST", GEMINI_PATH.partition("?")[0], {"contents": []})

    assert gateway.end("0").calls[0].usage == Usage(input=9, cache_read=0, output=5, reasoning=3)


def test_models_are_rewritten_and_the_role_is_kept(
    begin: Begin, gateway: GatewayProcess, provider: Provider
) -> None:
    """The price is that of the model that was asked for, never that of the role."""
    agent = begin(rewrite={"claude-other": "claude-x", "claude-*": "unpriced", "gemini-*": "gemini-9"})
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    provider.behaviour = lambda exchange: exchange.answer(200, {"model": "dated-name", "usage": usage})
    agent.ask("POST", "/v1/messages", {"model": "claude-other"})
    agent.ask("POST", "/v1/messages", {"model": "claude-x"})
    agent.ask("POST", GEMINI_PATH, {"contents": []})
    agent.ask("POST", "/v1/messages/count_tokens", {"model": "claude-other"})

    bodies = [json.loads(seen.body) for seen in provider.received]
    assert [body.get("model") for body in bodies] == ["claude-x", "unpriced", None, "claude-x"]
    assert provider.received[2].path.startswith("/v1/models/gemini-9:streamGenerateContent")
    first, second, third, _ = gateway.end("0").calls
    assert (first.role, first.asked, first.model) == ("claude-other", "claude-x", "dated-name")
    assert first.cost_usd == pytest.approx(3)
    assert (second.role, second.asked, second.cost_usd) == ("claude-x", "unpriced", None)
    assert third.asked == "gemini-9"


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Authorization", "Bearer own-login-0123456789"),
        ("x-api-key", "own-login-0123456789"),
        ("x-goog-api-key", "own-login-0123456789"),
    ],
)
def test_an_own_login_passes_untouched_and_its_cost_is_imputed(
    begin: Begin, gateway: GatewayProcess, provider: Provider, header: str, value: str, kit: type[Kit]
) -> None:
    agent = begin(auth="passthrough")
    agent.key = "" if header != "x-api-key" else value
    answer = agent.message(**({} if header == "x-api-key" else {header: value}))

    assert answer.status == 200
    seen = provider.received[0]
    assert seen.headers[header.lower()] == value
    assert kit.REAL_KEY not in json.dumps(seen.headers)
    (call,) = gateway.end("0").calls
    assert call.imputed
    assert call.cost_usd == pytest.approx((100 * 3 + 300 * 0.3 + 200 * 3.75 + 40 * 15) / 1e6)


def test_an_own_login_that_an_error_quotes_is_not_recorded(
    begin: Begin, gateway: GatewayProcess, provider: Provider, calls_path: Path
) -> None:
    agent = begin(auth="passthrough")
    agent.key = "own-login-0123456789"
    error = {"error": {"message": "no such key: own-login-0123456789"}}
    provider.behaviour = lambda exchange: exchange.answer(401, error)
    agent.message()
    gateway.end("0")

    assert "own-login" not in calls_path.read_text()
    assert "no such key" in calls_path.read_text()


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"model": "cheap", "max_tokens": 5, "model": "dear"}', "'model' twice"),
        (b'{"model": "m", "tools": [{"name": "a", "name": "b"}]}', "'name' twice"),
        (b"[" * 100_000, "no JSON object"),
    ],
)
def test_requests_that_two_readers_would_read_differently_are_refused(
    begin: Begin, provider: Provider, body: bytes, sentence: str
) -> None:
    answer = begin(prompt_cache="off").ask("POST", "/v1/messages", body)

    assert answer.status == 400
    assert sentence in answer.json["error"]["message"]
    assert not provider.received


def test_a_background_response_is_refused(begin: Begin, provider: Provider) -> None:
    """Its usage would be told to whoever asks later, past the meter."""
    answer = begin().ask("POST", "/v1/responses", {"model": "m", "input": "x", "background": True})

    assert answer.status == 400
    assert "background" in answer.json["error"]["message"]
    assert not provider.received
