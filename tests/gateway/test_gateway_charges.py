"""Odd answers are charged right: what is told counts, what is not counts as reserved, errors are free."""

import http.client
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import Exchange, Kit, Provider
from tiltyard_gateway import GatewayProcess

BODY = {"model": "claude-x", "max_tokens": 1000, "messages": []}
RESERVE = len(json.dumps(BODY)) + 1024 + 1000
GOOD = {"input_tokens": 10, "output_tokens": 5}


def whole(body: Any, status: int = 200) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(status, body)


def with_usage(usage: Any) -> Callable[[Exchange], None]:
    return whole({"model": "claude-x", "usage": usage})


def half_a_body(exchange: Exchange) -> None:
    exchange.send_response(200)
    exchange.send_header("Content-Type", "application/json")
    exchange.send_header("Content-Length", "5000")
    exchange.end_headers()
    exchange.wfile.write(json.dumps({"usage": GOOD}).encode())
    exchange.break_off()


def a_page(exchange: Exchange) -> None:
    exchange.send_response(200)
    exchange.send_header("Content-Type", "text/html")
    exchange.send_header("Content-Length", "13")
    exchange.end_headers()
    exchange.wfile.write(b"<html></html>")


def events(*bodies: dict[str, Any]) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.stream(Kit.sse(*bodies))


START = {
    "type": "message_start",
    "message": {"model": "claude-x", "usage": {"input_tokens": 10, "output_tokens": 1}},
}
OVERLOADED = {"type": "error", "error": {"type": "api_error", "message": "sorry"}}


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (with_usage(GOOD), ("ok", "usage", 15, 0)),
        (with_usage(None), ("ok", "reserve", RESERVE, 1)),
        (with_usage({"input_tokens": -3, "output_tokens": 5}), ("ok", "reserve", RESERVE, 1)),
        (with_usage({"input_tokens": 10, "output_tokens": "5"}), ("ok", "reserve", 10 + 1000, 1)),
        (with_usage({"input_tokens": 10**400, "output_tokens": 5}), ("ok", "reserve", RESERVE, 1)),
        (with_usage({"input_tokens": 1.5, "output_tokens": True}), ("ok", "reserve", RESERVE, 1)),
        (whole([]), ("ok", "reserve", RESERVE, 1)),
        (a_page, ("ok", "reserve", RESERVE, 1)),
        (half_a_body, ("cut", "reserve", RESERVE, 1)),
        (events(START), ("cut", "reserve", 10 + 1000, 1)),
        (events({"type": "message_stop"}), ("ok", "reserve", RESERVE, 1)),
        (events(START, OVERLOADED), ("error", "reserve", 10 + 1000, 0)),
        (events(OVERLOADED), ("error", None, None, 0)),
        (whole({"error": {"message": "no"}}, 400), ("error", None, None, 0)),
        (whole({"error": {"message": "no"}}), ("error", None, None, 0)),
        (whole({}, 500), ("error", None, None, 0)),
    ],
)
def test_charges(
    gateway: GatewayProcess,
    provider: Provider,
    kit: type[Kit],
    calls_path: Path,
    behaviour: Callable[[Exchange], None],
    expected: tuple[str, str | None, int | None, int],
) -> None:
    agent = kit.Agent(gateway.open_slot("0") / "gw.sock")
    gateway.begin("0", kit.ticket(calls_path))
    provider.behaviour = behaviour
    connection = agent.begin("POST", "/v1/messages", BODY)
    with suppress(http.client.HTTPException, OSError):
        connection.getresponse().read()
    before = gateway.spent()
    meter = gateway.end("0")

    (call,) = meter.calls
    assert (call.outcome, call.charged, call.charged_tokens, meter.incomplete) == expected
    assert meter.charged_tokens == (call.charged_tokens or 0)
    assert before.reserved_tokens == 0
