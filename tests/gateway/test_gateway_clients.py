"""Clients and providers that speak HTTP in their own way, and each place where one of them may leave."""

import contextlib
import gzip
import http.client
import json
import socket
from typing import Any

import pytest

from tests.gateway.conftest import Agent, Exchange, Kit, Provider
from tiltyard_gateway import GatewayProcess

pytestmark = pytest.mark.slow  # many connections

BODY = json.dumps({"model": "claude-x", "max_tokens": 100, "messages": []}).encode()
ENDS = range(7)
"""After how many of the stream's events somebody leaves; there are six."""


def request(*headers: str, body: bytes = b"", version: str = "1.1") -> bytes:
    """A request in bytes."""
    lines = [f"POST /v1/messages HTTP/{version}", "Host: g", f"x-api-key: {Kit.PLACEBO}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@contextlib.contextmanager
def line(agent: Agent) -> Any:
    """A bare connection to the slot."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as plain:
        plain.settimeout(60)
        plain.connect(str(agent.socket))
        yield plain


def answers(plain: socket.socket, count: int) -> list[tuple[int, bytes]]:
    """That many answers from one connection."""
    found = []
    for _ in range(count):
        response = http.client.HTTPResponse(plain)
        response.begin()
        found.append((response.status, response.read()))
    return found


def length(body: bytes) -> str:
    return f"Content-Length: {len(body)}"


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(agent: Agent, provider: Provider) -> None:
    """Some wait for ever."""
    with line(agent) as plain:
        plain.sendall(request("Expect: 100-continue", length(BODY)))
        assert plain.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        plain.sendall(BODY)
        assert answers(plain, 1)[0][0] == 200
    assert "expect" not in provider.received[0].headers


def test_a_client_that_asks_before_it_sends_may_be_refused(agent: Agent, provider: Provider) -> None:
    with line(agent) as plain:
        plain.sendall(request("Expect: 100-continue", "Content-Length: 99999999"))
        assert answers(plain, 1)[0][0] == 413
    assert not provider.received


@pytest.mark.parametrize("stream", [False, True])
def test_an_old_client_gets_its_answer_unchunked(agent: Agent, kit: type[Kit], stream: bool) -> None:
    body = json.dumps(kit.message_body(stream=stream)).encode()
    with line(agent) as plain:
        plain.sendall(request(length(body), body=body, version="1.0"))
        raw = b"".join(iter(lambda: plain.recv(65536), b""))
    head, _, rest = raw.partition(b"\r\n\r\n")

    assert b" 200 " in head.splitlines()[0]
    assert b"chunked" not in head.lower()
    assert rest == b"".join(kit.STREAM) if stream else json.loads(rest) == kit.MESSAGE


def test_requests_in_a_row_are_answered_in_order(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    bodies = [json.dumps(kit.message_body() | {"max_tokens": number}).encode() for number in (1, 2, 3)]
    with line(agent) as plain:
        plain.sendall(b"".join(request(length(body), body=body) for body in bodies))
        assert [status for status, _ in answers(plain, 3)] == [200] * 3

    assert [each.body for each in provider.received] == bodies
    assert [call.outcome for call in gateway.end("0").calls] == ["ok"] * 3


def test_a_chunked_request_is_read(agent: Agent, provider: Provider) -> None:
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:7], BODY[7:]))
    with line(agent) as plain:
        plain.sendall(request("Transfer-Encoding: chunked", body=chunks + b"0\r\n\r\n"))
        assert answers(plain, 1)[0][0] == 200
    assert provider.received[0].body == BODY


@pytest.mark.parametrize(
    "headers",
    [
        ("Transfer-Encoding: chunked", length(BODY)),
        (length(BODY), "Content-Length: 5"),
        ("Transfer-Encoding: chunked, identity",),
        ("Content-Length: +5",),
    ],
)
def test_a_request_with_two_ends_is_refused(agent: Agent, provider: Provider, headers: tuple[str]) -> None:
    """A second request could hide in what one reader takes for the first one's body."""
    with line(agent) as plain:
        plain.sendall(request(*headers, body=b"0\r\n\r\n" + request(length(BODY), body=BODY)))
        assert answers(plain, 1)[0][0] == 400
    assert not provider.received


def packed(body: bytes, encoding: str, kind: str) -> Any:
    """A provider that packs its answer though it was asked not to."""

    def behaviour(exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("Content-Type", kind)
        exchange.send_header("Content-Encoding", encoding)
        exchange.send_header("Content-Length", str(len(body)))
        exchange.end_headers()
        exchange.wfile.write(body)

    return behaviour


@pytest.mark.parametrize("stream", [False, True])
def test_a_packed_answer_is_unpacked_and_metered(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit], stream: bool
) -> None:
    whole = b"".join(kit.STREAM) if stream else json.dumps(kit.MESSAGE).encode()
    kind = "text/event-stream" if stream else "application/json"
    provider.behaviour = packed(gzip.compress(whole), "gzip", kind)
    answer = agent.message(stream=stream)

    assert answer.body == whole
    assert "content-encoding" not in answer.headers
    (call,) = gateway.end("0").calls
    assert (call.outcome, call.charged, call.charged_tokens) == ("ok", "usage", 640)


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
def test_an_answer_that_cannot_be_unpacked_is_charged_as_reserved(
    agent: Agent, gateway: GatewayProcess, provider: Provider, encoding: str
) -> None:
    provider.behaviour = packed(b"\x1f\x8b nothing of the kind", encoding, "application/json")
    with contextlib.suppress(http.client.HTTPException, OSError):
        agent.message()
    meter = gateway.end("0")

    assert (meter.calls[0].outcome, meter.calls[0].charged, meter.incomplete) == ("cut", "reserve", 1)


def _known(events: int) -> tuple[int | None, int | None]:
    """Input and output that are known after so many events; the fifth has the output."""
    return (100 if events else None, 40 if events >= 5 else None)


@pytest.mark.parametrize("events", ENDS)
def test_a_stream_cut_after_any_event_is_charged(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit], events: int
) -> None:
    """All that may have been billed is: as reported where that is known, else as reserved."""

    def behaviour(exchange: Exchange) -> None:
        exchange.begin_stream()
        for event in kit.STREAM[:events]:
            exchange.chunk(event)
        exchange.break_off()

    provider.behaviour = behaviour
    with contextlib.suppress(http.client.HTTPException, OSError):
        agent.message(stream=True)
    (call,) = gateway.end("0").calls

    usage = (call.usage.input, call.usage.output) if call.usage else (None, None)
    assert (call.outcome, usage) == ("cut", _known(events))
    assert call.charged == ("usage" if events >= 5 else "reserve")


@pytest.mark.parametrize("events", ENDS)
def test_an_agent_that_leaves_after_any_event_is_charged(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit], events: int
) -> None:
    def behaviour(exchange: Exchange) -> None:
        exchange.begin_stream()
        for event in kit.STREAM[:events]:
            exchange.chunk(event)
        while True:  # until the gateway hangs up in its turn
            exchange.chunk(b": tick\n\n")
            if provider.hung_up.wait(0.01):
                return

    provider.behaviour = behaviour
    connection = agent.begin("POST", "/v1/messages", kit.message_body(stream=True))
    response, seen = connection.getresponse(), b""
    while b"tick" not in seen:
        seen += response.read1(65536)
    connection.close()
    kit.wait_until(lambda: len(gateway.calls("0")) == 1, 60)
    (call,) = gateway.end("0").calls

    usage = (call.usage.input, call.usage.output) if call.usage else (None, None)
    assert (call.outcome, usage) == ("ok" if events == 6 else "hung_up", _known(events))
    assert call.charged == ("usage" if events >= 5 else "reserve")
