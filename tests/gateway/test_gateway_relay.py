"""What passes the gateway, how, and what does not."""

import gzip
import http.client
import json
import threading
import time
from pathlib import Path

import pytest

from tests.gateway.conftest import Agent, Exchange, Kit, Provider
from tiltyard_gateway import GatewayConfig, GatewayProcess, Upstream
from tiltyard_specs.usage import Usage


def test_a_message_passes_and_is_metered(agent: Agent, gateway: GatewayProcess, provider: Provider) -> None:
    answer = agent.message()

    assert answer.status == 200
    assert answer.json["content"][0]["text"] == "42"
    meter = gateway.end("0")
    (call,) = meter.calls
    assert call.usage == meter.usage == Usage(input=100, cache_read=300, cache_write=200, output=40)
    assert (call.index, call.wire, call.role, call.model) == (1, "anthropic", "claude-x", "claude-x-20260101")
    assert (call.path, call.status, call.outcome, call.stream) == ("/v1/messages", 200, "ok", False)
    assert call.tools == ("Bash",)
    assert call.cost_usd == pytest.approx((100 * 3 + 300 * 0.3 + 200 * 3.75 + 40 * 15) / 1e6)
    assert meter.cost_usd == pytest.approx(call.cost_usd)
    assert meter.incomplete == 0
    assert provider.received[0].path == "/v1/messages?beta=true"
    assert json.loads(provider.received[0].body)["model"] == "claude-x"


def test_the_provider_sees_the_real_key_and_never_the_placebo(
    agent: Agent, provider: Provider, kit: type[Kit]
) -> None:
    agent.message(Authorization=f"Bearer {kit.PLACEBO}", api_key=kit.PLACEBO, Cookie="a=b")

    seen = provider.received[0]
    assert seen.headers["x-api-key"] == kit.REAL_KEY
    assert kit.PLACEBO not in json.dumps([seen.path, seen.headers, seen.body.decode()])
    assert not {"authorization", "api-key", "cookie"} & set(seen.headers)


def test_the_real_key_is_sent_in_the_form_of_the_wire(
    agent: Agent, provider: Provider, kit: type[Kit]
) -> None:
    body = {"model": "gpt-a", "input": "hi"}
    agent.ask("POST", "/v1/responses", body, Authorization=f"Bearer {kit.PLACEBO}", x_api_key="")

    assert provider.received[0].headers["authorization"] == f"Bearer {kit.REAL_KEY}"
    assert "x-api-key" not in provider.received[0].headers


def test_headers_between_two_hops_stay_there(agent: Agent, provider: Provider) -> None:
    answer = agent.message(
        Connection="keep-alive, x-private",
        x_private="1",
        x_tiltyard_run="forged/1",
        accept_encoding="gzip, br",
        x_app="cli",
    )

    seen = provider.received[0].headers
    assert seen["accept-encoding"] == "identity"
    assert seen["x-app"] == "cli"
    assert not {"x-private", "x-tiltyard-run"} & set(seen)
    assert answer.headers["content-type"] == "application/json"


def test_a_stream_passes_as_it_comes(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    """The agent reads the first event while the provider still holds back the rest."""
    go_on = threading.Event()

    def behaviour(exchange: Exchange) -> None:
        exchange.begin_stream()
        for index, event in enumerate([*kit.STREAM, b""]):
            exchange.chunk(event)
            if index == 0:
                assert go_on.wait(20)

    provider.behaviour = behaviour
    response = agent.begin("POST", "/v1/messages", kit.message_body(stream=True)).getresponse()

    assert response.read1(65536) == kit.STREAM[0]
    go_on.set()
    assert response.read() == b"".join(kit.STREAM[1:])
    kit.wait_until(lambda: len(gateway.calls("0")) == 1)
    (call,) = gateway.end("0").calls
    assert call.usage == Usage(input=100, cache_read=300, cache_write=200, output=40)
    assert call.stream
    assert call.first_byte_seconds is not None
    assert call.first_byte_seconds < call.seconds


def test_a_compressed_request_is_understood(agent: Agent, provider: Provider, kit: type[Kit]) -> None:
    body = gzip.compress(json.dumps(kit.message_body()).encode())

    assert agent.ask("POST", "/v1/messages", body, Content_Encoding="gzip").status == 200
    assert json.loads(provider.received[0].body) == kit.message_body()
    assert "content-encoding" not in provider.received[0].headers
    assert agent.ask("POST", "/v1/messages", body, Content_Encoding="zstd").status in {400, 415}
    assert len(provider.received) == 1


@pytest.mark.parametrize("key", ["", "sk-placebo-other-run", "real-key-0123456789abcdef"])
def test_only_the_key_of_the_run_is_served(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit], key: str
) -> None:
    answer = kit.Agent(agent.socket, key).message()

    assert answer.status == 401
    assert answer.json["type"] == "error"
    assert not provider.received
    (call,) = gateway.end("0").calls
    assert (call.outcome, call.status, call.usage) == ("refused", 401, None)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/embeddings"),
        ("GET", "/v1/files"),
        ("POST", "/v1/messages/batches"),
        ("PUT", "/v1/messages"),
    ],
)
def test_unknown_paths_are_refused_and_recorded(
    agent: Agent, gateway: GatewayProcess, provider: Provider, method: str, path: str
) -> None:
    answer = agent.ask(method, path, {"model": "m"})

    assert answer.status == 404
    assert path in answer.json["error"]["message"]
    assert not provider.received
    (call,) = gateway.end("0").calls
    assert (call.outcome, call.method, call.path, call.wire) == ("refused", method, path, None)


def test_connect_is_refused(agent: Agent, gateway: GatewayProcess) -> None:
    connection = http.client.HTTPConnection("gateway")
    connection.sock = agent.begin("GET", "/").sock
    connection.sock.recv(65536)
    connection.sock.sendall(b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n")

    assert connection.sock.recv(65536).startswith(b"HTTP/1.1 403")
    assert [call.outcome for call in gateway.end("0").calls] == ["free", "refused"]


def test_websockets_are_refused_at_once(agent: Agent, gateway: GatewayProcess, provider: Provider) -> None:
    started = time.monotonic()
    answer = agent.ask(
        "GET", "/v1/responses", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Key="x"
    )

    assert answer.status == 426
    assert time.monotonic() - started < 2
    assert gateway.end("0").calls[0].outcome == "refused"
    assert not provider.received


def test_free_paths_are_served_and_not_counted(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    provider.behaviour = lambda exchange: exchange.answer(200, {"input_tokens": 7, "data": []})

    assert agent.ask("HEAD", "/").status == 200
    assert kit.Agent(agent.socket, key="").ask("GET", "/").status == 200
    assert not provider.received
    assert agent.ask("POST", "/v1/messages/count_tokens", kit.message_body()).json["input_tokens"] == 7
    assert agent.ask("GET", "/v1/models?limit=10").status == 200
    assert [seen.path for seen in provider.received] == ["/v1/messages/count_tokens", "/v1/models?limit=10"]
    meter = gateway.end("0")
    assert [call.outcome for call in meter.calls] == ["free"] * 4
    assert (meter.usage, meter.cost_usd, meter.incomplete) == (None, None, 0)


def test_errors_of_the_provider_pass_with_their_headers(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit], calls_path: Path
) -> None:
    gateway.end("0")
    own = Upstream(base_url=f"{provider.url}/own/v1", key=kit.REAL_KEY)  # whose pause holds up no other test
    gateway.begin("0", kit.ticket(calls_path, anthropic=own))
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    provider.behaviour = lambda exchange: exchange.answer(429, error, retry_after="7")
    answer = agent.message()

    assert (answer.status, answer.headers["retry-after"], answer.json) == (429, "7", error)
    assert len(provider.received) == 1
    meter = gateway.end("0")
    assert (meter.calls[0].outcome, meter.calls[0].status, meter.calls[0].message) == (
        "error",
        429,
        "slow down",
    )
    assert meter.incomplete == 0


def test_an_error_that_quotes_the_real_key_does_not_leak_it(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit], calls_path: Path
) -> None:
    error = {"error": {"message": f"Incorrect API key provided: {kit.REAL_KEY}."}}
    provider.behaviour = lambda exchange: exchange.answer(401, error, x_echo="1")
    answer = agent.message()

    assert answer.status == 401
    assert kit.REAL_KEY.encode() not in answer.body
    assert b"Incorrect API key" in answer.body
    gateway.end("0")
    assert kit.REAL_KEY not in calls_path.read_text()


def test_redirects_are_not_followed(agent: Agent, provider: Provider) -> None:
    provider.behaviour = lambda exchange: exchange.answer(307, {}, Location="http://127.0.0.1:9/v1/messages")

    assert agent.message().status == 307
    assert len(provider.received) == 1


@pytest.mark.parametrize("body", [b"", b"no json", b"[1]"])
def test_a_request_that_cannot_be_read_is_not_sent_on(
    agent: Agent, gateway: GatewayProcess, provider: Provider, body: bytes
) -> None:
    assert agent.ask("POST", "/v1/messages", body).status == 400
    assert not provider.received
    assert gateway.end("0").calls[0].outcome == "refused"


@pytest.mark.slow
def test_a_body_beyond_the_limit_is_refused(config: GatewayConfig, kit: type[Kit], tmp_path: Path) -> None:
    with GatewayProcess(config.model_copy(update={"max_body": 1000})) as gateway:
        agent = kit.Agent(gateway.open_slot("0") / "gw.sock")
        gateway.begin("0", kit.ticket(tmp_path / "calls.jsonl"))

        assert agent.ask("POST", "/v1/messages", {"model": "m", "pad": "x" * 2000}).status == 413


def test_an_unreachable_provider_is_named(
    agent: Agent, gateway: GatewayProcess, kit: type[Kit], calls_path: Path
) -> None:
    gateway.end("0")
    gateway.begin(
        "0", kit.ticket(calls_path, anthropic=Upstream(base_url="http://127.0.0.1:9/v1", key="k" * 20))
    )
    answer = agent.message()

    assert answer.status == 502
    assert "127.0.0.1:9" in answer.json["error"]["message"]
    meter = gateway.end("0")
    assert (meter.calls[0].outcome, meter.calls[0].status, meter.incomplete) == ("error", 502, 0)


def test_a_missing_key_is_named(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit], calls_path: Path
) -> None:
    gateway.end("0")
    keyless = Upstream(base_url=provider.url, key_name="THE_KEY_NAME")
    gateway.begin("0", kit.ticket(calls_path, anthropic=keyless))
    answer = agent.message()

    assert answer.status == 503
    assert "set THE_KEY_NAME" in answer.json["error"]["message"]
    assert not provider.received


def test_a_scripted_upstream_is_told_the_run(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit], calls_path: Path
) -> None:
    gateway.end("0")
    scripted = Upstream(base_url=provider.url + "/v1", key="k" * 20, scripted=True)
    gateway.begin("0", kit.ticket(calls_path, anthropic=scripted))
    agent.message()

    assert provider.received[0].headers["x-tiltyard-run"] == "run-1/1"
