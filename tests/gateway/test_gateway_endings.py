"""Every way a call can end, and what is left of it."""

import json
import threading
import time
from pathlib import Path

import pytest

from tests.gateway.conftest import Agent, Exchange, Kit, Provider
from tiltyard_gateway import GatewayProcess, read_journal
from tiltyard_specs.usage import Usage

pytestmark = pytest.mark.slow  # many processes

PARTIAL = Usage(input=100, cache_read=300, cache_write=200)


def hold(provider: Provider, events: list[bytes]) -> threading.Event:
    """The provider sends some events and then nothing until the test lets it."""
    release = threading.Event()

    def behaviour(exchange: Exchange) -> None:
        exchange.begin_stream()
        for event in events:
            exchange.chunk(event)
        release.wait(20)
        for _ in range(1000):
            exchange.chunk(b": tick\n\n")
            time.sleep(0.01)

    provider.behaviour = behaviour
    return release


def test_a_stream_that_the_provider_cuts_is_broken_off_for_the_agent(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    def behaviour(exchange: Exchange) -> None:
        exchange.begin_stream()
        for event in kit.STREAM[:3]:
            exchange.chunk(event)
        exchange.break_off()

    provider.behaviour = behaviour
    response = agent.begin("POST", "/v1/messages", kit.message_body(stream=True)).getresponse()
    broken = False
    try:
        response.read()
    except Exception as error:  # noqa: BLE001 - the kind depends on where the cut falls
        broken = type(error).__name__ in {"IncompleteRead", "ConnectionResetError"}

    assert broken
    (call,) = gateway.end("0").calls
    assert (call.outcome, call.usage, call.cost_usd, call.status) == ("cut", PARTIAL, None, 200)
    assert "broke off" in (call.message or "")
    assert len(provider.received) == 1


def test_a_stream_that_ends_cleanly_without_its_last_event_is_cut_too(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    provider.behaviour = lambda exchange: exchange.stream(kit.STREAM[:3])

    assert agent.message(stream=True).status == 200
    meter = gateway.end("0")
    assert meter.calls[0].outcome == "cut"
    assert meter.incomplete == 1


def test_a_provider_that_hangs_up_before_it_answers_is_cut_and_asked_once(
    agent: Agent, gateway: GatewayProcess, provider: Provider
) -> None:
    provider.behaviour = lambda exchange: exchange.break_off()
    answer = agent.message()

    assert answer.status == 502
    meter = gateway.end("0")
    assert (meter.calls[0].outcome, meter.incomplete) == ("cut", 1)
    assert len(provider.received) == 1


def test_an_error_within_a_stream_is_an_error(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    provider.behaviour = lambda exchange: exchange.stream([kit.STREAM[0], *kit.sse(error)])

    assert agent.message(stream=True).status == 200
    (call,) = gateway.end("0").calls
    assert (call.outcome, call.message, call.usage) == ("error", "Overloaded", PARTIAL)


def test_an_agent_that_hangs_up_cancels_the_providers_work(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    release = hold(provider, kit.STREAM[:3])
    connection = agent.begin("POST", "/v1/messages", kit.message_body(stream=True))
    connection.getresponse().read1(10)
    connection.close()
    kit.wait_until(lambda: len(gateway.calls("0")) == 1)
    release.set()

    assert provider.hung_up.wait(20)
    meter = gateway.end("0")
    assert (meter.calls[0].outcome, meter.calls[0].usage) == ("hung_up", PARTIAL)
    assert (meter.incomplete, meter.cost_usd) == (1, None)


def test_an_agent_that_leaves_at_the_last_event_had_a_whole_answer(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    """CLIs do not wait for the end of the body."""
    release = hold(provider, kit.STREAM)
    connection = agent.begin("POST", "/v1/messages", kit.message_body(stream=True))
    response, seen = connection.getresponse(), b""
    while b"message_stop" not in seen:
        seen += response.read1(65536)
    connection.close()
    kit.wait_until(lambda: len(gateway.calls("0")) == 1)
    release.set()

    meter = gateway.end("0")
    assert (meter.calls[0].outcome, meter.calls[0].usage) == ("ok", PARTIAL.model_copy(update={"output": 40}))
    assert meter.incomplete == 0


def test_an_agent_that_hangs_up_before_any_answer(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    release = threading.Event()
    provider.behaviour = lambda _: release.wait(20)
    connection = agent.begin("POST", "/v1/messages", kit.message_body())
    kit.wait_until(lambda: len(provider.received) == 1)
    connection.close()
    kit.wait_until(lambda: len(gateway.calls("0")) == 1)
    release.set()

    (call,) = gateway.end("0").calls
    assert (call.outcome, call.status, call.usage) == ("hung_up", None, None)


def test_a_request_that_never_arrived_whole_was_not_billed(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    connection = agent.begin("GET", "/")
    connection.getresponse().read()
    connection.sock.sendall(
        b"POST /v1/messages HTTP/1.1\r\nHost: g\r\nContent-Length: 100\r\n"
        + f"x-api-key: {kit.PLACEBO}\r\n\r\n{{".encode()
    )
    time.sleep(0.1)
    connection.close()
    kit.wait_until(lambda: len(gateway.calls("0")) == 2)

    meter = gateway.end("0")
    assert meter.calls[1].outcome == "refused"
    assert meter.incomplete == 0
    assert not provider.received


def test_the_end_of_a_run_breaks_off_what_is_in_flight(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit], calls_path: Path
) -> None:
    hold(provider, kit.STREAM[:3])
    streams = [agent.begin("POST", "/v1/messages", kit.message_body(stream=True)) for _ in range(3)]
    for stream in streams:
        stream.getresponse().read1(10)
    started = time.monotonic()
    meter = gateway.end("0")

    assert time.monotonic() - started < 3
    assert [call.outcome for call in meter.calls] == ["hung_up"] * 3
    assert read_journal(calls_path) == meter.calls
    assert agent.message().status == 403
    assert len(read_journal(calls_path)) == 3


def test_an_agent_that_does_not_read_stops_nobody(
    agent: Agent, gateway: GatewayProcess, provider: Provider, kit: type[Kit]
) -> None:
    """Megabytes wait behind an unread socket; the gateway neither buffers them nor waits at the end."""
    sent = []

    def behaviour(exchange: Exchange) -> None:
        exchange.begin_stream()
        for _ in range(2000):
            exchange.chunk(b": " + b"x" * 32768 + b"\n\n")
            sent.append(1)

    provider.behaviour = behaviour
    agent.begin("POST", "/v1/messages", kit.message_body(stream=True))
    kit.wait_until(lambda: len(sent) > 5)
    time.sleep(0.5)
    assert len(sent) < 1000
    started = time.monotonic()
    meter = gateway.end("0")

    assert time.monotonic() - started < 3
    assert meter.calls[0].outcome == "hung_up"


def test_each_call_is_on_disk_as_soon_as_it_settles(
    agent: Agent, gateway: GatewayProcess, calls_path: Path
) -> None:
    agent.message()
    agent.message(stream=True)
    lines = [json.loads(line) for line in calls_path.read_text().splitlines()]

    assert [line["index"] for line in lines] == [1, 2]
    assert read_journal(calls_path) == gateway.calls("0")


def test_a_full_disk_stops_paid_calls_and_is_told(
    gateway: GatewayProcess, agent: Agent, provider: Provider, kit: type[Kit]
) -> None:
    """What cannot be written down must not be bought."""
    gateway.end("0")
    gateway.begin("0", kit.ticket("/dev/full"))

    assert agent.message().status == 200
    assert agent.message().status == 503
    meter = gateway.end("0")
    assert "cannot be written" in (meter.journal_error or "")
    assert [call.outcome for call in meter.calls] == ["ok", "refused"]
    assert len(provider.received) == 1


def test_two_slots_do_not_mix(gateway: GatewayProcess, agent: Agent, kit: type[Kit], tmp_path: Path) -> None:
    other = kit.Agent(gateway.open_slot("1") / "gw.sock", key="sk-placebo-run-2")
    gateway.begin("1", kit.ticket(tmp_path / "other.jsonl", key="sk-placebo-run-2"))
    agent.message()
    other.message()
    other.message()

    assert kit.Agent(agent.socket, key="sk-placebo-run-2").message().status == 401
    assert [call.outcome for call in gateway.end("0").calls] == ["ok", "refused"]
    assert [call.outcome for call in gateway.end("1").calls] == ["ok", "ok"]


def test_a_slot_serves_one_run_after_another(
    gateway: GatewayProcess, agent: Agent, kit: type[Kit], tmp_path: Path
) -> None:
    agent.message()
    gateway.end("0")
    gateway.begin("0", kit.ticket(tmp_path / "second.jsonl", key="sk-placebo-second"))

    assert agent.message().status == 401
    assert kit.Agent(agent.socket, key="sk-placebo-second").message().status == 200
    assert [call.index for call in gateway.end("0").calls] == [1, 2]
