"""Shapes of a request by which tokens would be billed and not metered: each is refused, stripped or told."""

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from tests.gateway.conftest import Agent, Exchange, Kit, Provider
from tiltyard_gateway import GatewayProcess
from tiltyard_gateway.upstream import locate
from tiltyard_gateway.wires import find_route
from tiltyard_gateway.wires.anthropic import AnthropicReading
from tiltyard_specs.usage import Usage

Begin = Callable[..., Agent]
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI = "/v1beta/models/claude-x:generateContent"


@pytest.fixture
def begin(gateway: GatewayProcess, provider: Provider, calls_path: Any, kit: type[Kit]) -> Begin:
    """An agent whose run has this ticket."""
    del provider

    def with_ticket(**more: Any) -> Agent:
        folder = gateway.open_slot("0")
        gateway.begin("0", kit.ticket(calls_path, **more))
        return Agent(folder / "gw.sock")

    return with_ticket


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/messages/batches", "/v1/complete", "/v1/files", "/v1/messages/batches/b/results"),
        *("/v1/batches", "/v1/assistants", "/v1/threads", "/v1/threads/runs", "/v1/threads/t/runs"),
        *("/v1/responses/r", "/v1/responses/r/cancel", "/v1/responses/compact", "/v1/responses/input_tokens"),
        *("/v1/chat/completions/c", "/v1/completions", "/v1/embeddings", "/v1/images/generations"),
        *("/v1/audio/speech", "/v1/realtime/sessions", "/v1/vector_stores", "/v1/containers", "/v1/uploads"),
        *("/v1/fine_tuning/jobs", "/v1/evals", "/v1/conversations", "/v1/videos", "/v1/moderations"),
        *("/v1beta/batches", "/v1beta/files", "/v1beta/cachedContents", "/v1beta/models/g:predict"),
        *("/v1beta/models/g:batchGenerateContent", "/v1beta/models/g:asyncBatchEmbedContent"),
        *(
            "/v1beta/tunedModels/g:generateContent",
            "/v1beta/interactions",
            "/v1beta/models/g:bidiGenerateContent",
        ),
        *("/v1/messages%2Fbatches", "/v1/messages?x/../batches", "//v1/messages", "/V1/messages"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET", "PUT", "PATCH", "DELETE"])
def test_other_services_of_the_providers_have_no_route(method: str, path: str) -> None:
    for headers in ({}, {"anthropic-version": "1"}, {"x-goog-api-key": "k"}):
        assert find_route(method, path, headers) is None


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        (MESSAGES, {"max_tokens": 5, "messages": []}, "names no model"),
        (MESSAGES, {"model": ["m"]}, "names no model"),
        (RESPONSES, {"prompt": {"id": "stored"}}, "names no model"),
        (MESSAGES, {"model": "cheap", "Model": "dear"}, "in two spellings"),
        (CHAT, {"model": "m", "n": 1, "N": 100}, "in two spellings"),
        (GEMINI, {"generationConfig": {}, "generation_config": {"candidateCount": 8}}, "in two spellings"),
        (GEMINI, {"generationConfig": {"maxOutputTokens": 1, "max_output_tokens": 9999}}, "in two spellings"),
        (CHAT, {"model": "m", "n": "100"}, "number of answers"),
        (CHAT, {"model": "m", "n": 2.0}, "number of answers"),
        (GEMINI, {"generationConfig": {"candidateCount": "8"}}, "number of answers"),
        (RESPONSES, {"model": "m", "background": True}, "background"),
        (RESPONSES, {"model": "m", "background": "true"}, "background"),
    ],
)
def test_what_the_meter_would_read_wrongly_is_refused(
    begin: Begin, provider: Provider, path: str, body: dict[str, Any], sentence: str
) -> None:
    answer = begin().ask("POST", path, body)

    assert answer.status == 400
    assert sentence in answer.json["error"]["message"]
    assert not provider.received


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (MESSAGES, {"model": "claude-x", "speed": "fast"}),
        (MESSAGES, {"model": "claude-x", "inference_geo": "us"}),
        (RESPONSES, {"model": "claude-x", "service_tier": "priority"}),
        (CHAT, {"model": "claude-x", "service_tier": ["priority"]}),
        (CHAT, {"model": "claude-x", "modalities": ["text", "audio"]}),
        (GEMINI, {"generationConfig": {"responseModalities": ["IMAGE"]}}),
        (GEMINI, {"service_tier": "SERVICE_TIER_PRIORITY"}),
    ],
)
def test_a_call_at_another_price_than_the_lists_has_an_unknown_price(
    begin: Begin, gateway: GatewayProcess, provider: Provider, path: str, body: dict[str, Any]
) -> None:
    """Unknown is not the list's price: with a limit in USD such a call is not made at all."""
    usage = {"input_tokens": 10, "output_tokens": 5, "prompt_tokens": 10, "completion_tokens": 5}
    reply = {"usage": usage, "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}}
    ended = {"candidates": [{"finishReason": "STOP"}]}
    provider.behaviour = lambda exchange: exchange.answer(200, reply | ended)
    agent = begin()
    agent.ask("POST", path, body)
    agent.ask("POST", path, {"model": "claude-x"} if path != GEMINI else {"contents": []})
    premium, plain = gateway.end("0").calls
    gateway.close_slot("0")

    assert (premium.usage, premium.cost_usd, premium.charged_usd) == (plain.usage, None, None)
    assert plain.cost_usd == pytest.approx((10 * 3 + 5 * 15) / 1e6)

    assert begin(limits={"usd": 1}).ask("POST", path, body).status in {400, 402, 403, 404}
    assert gateway.end("0").stopped_by == "unpriced"
    assert len(provider.received) == 2


@pytest.mark.parametrize(
    ("path", "tool", "name"),
    [
        (MESSAGES, {"type": "advisor_20260301", "name": "advisor", "model": "dear"}, "advisor"),
        (MESSAGES, {"type": "code_execution_20250825", "name": "code_execution"}, "code_execution"),
        (RESPONSES, {"type": "image_generation"}, "image_generation"),
        (RESPONSES, {"type": "code_interpreter", "container": {"type": "auto"}}, "code_interpreter"),
        (RESPONSES, {"type": "file_search", "vector_store_ids": ["v"]}, "file_search"),
        (RESPONSES, {"type": "shell", "environment": {"type": "container_auto"}}, "shell"),
    ],
)
def test_tools_that_are_billed_beside_tokens_are_taken_out(
    begin: Begin, gateway: GatewayProcess, provider: Provider, path: str, tool: dict[str, Any], name: str
) -> None:
    kept = {"type": "shell", "name": "mine"}
    begin(web_tools="strip").ask("POST", path, {"model": "m", "tools": [tool, kept]})

    assert json.loads(provider.received[0].body)["tools"] == [kept]
    assert gateway.end("0").calls[0].stripped == (name,)


def test_passes_that_a_message_leaves_out_of_its_sums_are_counted() -> None:
    """Compaction and an advisor are billed, and stand in `iterations` alone."""
    reading = AnthropicReading()
    message = {"type": "message", "input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 10}
    compaction = {"type": "compaction", "input_tokens": 9000, "output_tokens": 700}
    usage = {"input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 10}

    reading.on_body({"usage": usage | {"iterations": [message]}})
    assert reading.usage == Usage(input=100, cache_read=50, output=10)

    reading.on_body({"usage": usage | {"iterations": [compaction, message]}})
    assert reading.usage is not None
    assert (reading.usage.input, reading.usage.output) == (9100, 710)


def test_gemini_is_not_asked_for_an_answer_without_its_usage(begin: Begin, provider: Provider) -> None:
    query = "?alt=sse&fields=candidates&%66ields=x&$fields=y&%24alt=proto&alt=proto&pretty=1"
    headers = {"X_Goog_FieldMask": "candidates", "X_HTTP_Method_Override": "GET"}
    begin().ask("POST", GEMINI + query, {"contents": []}, **headers)

    (seen,) = provider.received
    assert seen.path.partition("?")[2] == "alt=sse&pretty=1"
    assert not {"x-goog-fieldmask", "x-http-method-override"} & seen.headers.keys()


def test_a_login_of_the_agents_own_may_stand_in_the_query() -> None:
    for keep_key, query in ((True, "key=own"), (False, "")):
        assert (
            locate(
                "https://g.example/v1", "/m", "k%65y=own".replace("%65", "e"), keep_key=keep_key
            ).url.query_string
            == query
        )


@pytest.mark.parametrize("changes", [{}, {"rewrite": {"claude-x": "claude-y"}}])
def test_half_a_surrogate_pair_passes(begin: Begin, provider: Provider, changes: dict[str, Any]) -> None:
    """JavaScript sends them where a text was cut in the middle of a character."""
    body = b'{"model": "claude-x", "messages": ["\\ud83d"]}'
    assert begin(**changes).ask("POST", MESSAGES, body).status == 200

    expected = body.replace(b"claude-x", changes["rewrite"]["claude-x"].encode()) if changes else body
    assert json.loads(provider.received[0].body) == json.loads(expected)


@pytest.mark.parametrize(
    "body",
    [
        '{"model": "claude-x"}'.encode("utf-16"),
        '{"model": "claude-x"}'.encode("utf-32-le"),
        b'\xef\xbb\xbf{"model": "claude-x"}',
        b'{"model": "claude-x", "x": "\xff"}',
        b'{"model": "claude-x"} {"model": "dear"}',
        b'{"model": "claude-x",}',
        b'{"model": "claude-x", "x": "\\ud83d", "model": "dear"}',
        b'{"a": {"b": [{"c": 1, "\\u0063": 2}]}, "model": "claude-x"}',
    ],
)
def test_json_that_others_may_read_otherwise_is_refused(
    begin: Begin, provider: Provider, body: bytes
) -> None:
    assert begin().ask("POST", MESSAGES, body).status == 400
    assert not provider.received


def test_what_a_text_quotes_is_no_second_name(begin: Begin, provider: Provider) -> None:
    """Names are counted outside of texts."""
    text = 'a "key": {"key": 1, "key": 2} \\" : , [ \\\\'
    body = {
        "model": "claude-x",
        "messages": [{"role": "user", "content": text}, {"role": "user"}],
        "a:b": ":",
    }
    assert begin().ask("POST", MESSAGES, body).status == 200
    assert json.loads(provider.received[0].body) == body


def answer_nothing_of_usage(exchange: Exchange) -> None:
    exchange.answer(200, {"model": "claude-x"})


def test_an_answer_that_hides_its_usage_is_charged_as_reserved(
    begin: Begin, gateway: GatewayProcess, provider: Provider
) -> None:
    provider.behaviour = answer_nothing_of_usage
    begin().ask("POST", MESSAGES, {"model": "claude-x", "max_tokens": 9})
    meter = gateway.end("0")

    assert (meter.incomplete, meter.cost_usd, meter.calls[0].charged) == (1, None, "reserve")


@pytest.mark.parametrize(
    ("name", "status", "outcome"),
    [("x_api_key", 401, "refused"), ("x_claude_code_session_id", 200, "ok"), ("x_anything", 200, "ok")],
)
def test_header_bytes_that_are_no_text_are_metered_as_any_other(
    begin: Begin, gateway: GatewayProcess, name: str, status: int, outcome: str
) -> None:
    """A call that cannot be written down would be one that nobody counts."""
    assert begin().message(**{name: "\xff\xfe"}).status == status
    (call,) = gateway.calls("0")
    assert (call.outcome, call.charged) == (outcome, "usage" if outcome == "ok" else None)


def test_half_a_character_in_an_answer_loses_no_call(
    begin: Begin, gateway: GatewayProcess, provider: Provider
) -> None:
    """JSON can escape one, and nothing can write it as UTF-8."""
    agent = begin()
    usage = {"input_tokens": 10, "output_tokens": 5}
    provider.behaviour = lambda exchange: exchange.answer(200, {"model": "claude-\ud800", "usage": usage})
    assert agent.message().status == 200
    provider.behaviour = lambda exchange: exchange.answer(400, {"error": {"message": "no \udfff"}})
    assert agent.message().status == 400

    first, second = gateway.calls("0")
    assert (first.outcome, first.model, first.charged_tokens) == ("ok", "claude-?", 15)
    assert (second.outcome, second.message) == ("error", "no ?")


def test_no_key_of_a_login_is_recorded_however_many_there_are(
    begin: Begin, provider: Provider, calls_path: Any
) -> None:
    agent = begin(auth="passthrough")
    provider.behaviour = lambda exchange: exchange.answer(401, {"error": {"message": "bad: second-login-1"}})
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(agent.socket))
        body = json.dumps({"model": "m", "max_tokens": 5, "messages": []})
        connection.sendall(
            f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\n"
            "x-api-key: first-login-1\r\nx-api-key: second-login-1\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        assert b"401" in connection.recv(65536)

    assert "second-login-1" not in calls_path.read_text()
    assert "bad: " in calls_path.read_text()
