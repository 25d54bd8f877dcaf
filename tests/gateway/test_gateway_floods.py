"""What an agent cannot do to the gateway: fill its memory or its disk, or stop it for others."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import Agent, Kit, Provider
from tiltyard_gateway import GatewayConfig, GatewayProcess

pytestmark = pytest.mark.slow  # many processes


def test_bodies_of_one_run_together_are_bounded(
    config: GatewayConfig, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    """Requests that never end must not fill the gateway's memory; other runs do not feel them."""
    with GatewayProcess(config.model_copy(update={"max_body": 1_000_000})) as gateway:
        flood, other = (kit.Agent(gateway.open_slot(slot) / "gw.sock") for slot in ("0", "1"))
        for slot in ("0", "1"):
            gateway.begin(slot, kit.ticket(tmp_path / f"{slot}.jsonl"))
        stuck = [flood.begin("GET", "/") for _ in range(3)]
        for connection in stuck:
            connection.getresponse().read()
            head = f"POST /v1/messages HTTP/1.1\r\nHost: g\r\nx-api-key: {kit.PLACEBO}\r\n"
            with suppress(BrokenPipeError):
                connection.sock.sendall(f"{head}Content-Length: 900000\r\n\r\n".encode() + b"x" * 800_000)

        kit.wait_until(lambda: any(call.status == 413 for call in gateway.calls("0")))
        assert other.message().status == 200
        for connection in stuck:
            connection.close()
        kit.wait_until(lambda: len(gateway.calls("0")) == 6)
        assert flood.message().status == 200, "what is over takes no room"


@pytest.mark.parametrize(
    "change",
    [
        {"model": "m" * 20_000_000},
        {"tools": [{"name": f"{n}" + "t" * 1000, "input_schema": {}} for n in range(1000)]},
    ],
)
def test_names_of_any_length_fill_no_disk(
    agent: Agent, provider: Provider, kit: type[Kit], calls_path: Path, change: dict[str, Any]
) -> None:
    """The names of model and tools are recorded with each call."""
    answer = agent.ask("POST", "/v1/messages", kit.message_body() | change)

    assert (answer.status, provider.received) == (400, [])
    assert "longer than" in answer.json["error"]["message"]
    assert calls_path.stat().st_size < 2000


def test_floods_of_refused_requests_fill_no_disk(
    config: GatewayConfig, kit: type[Kit], tmp_path: Path
) -> None:
    with GatewayProcess(config.model_copy(update={"max_unbilled": 3})) as gateway:
        agent = kit.Agent(gateway.open_slot("0") / "gw.sock")
        gateway.begin("0", kit.ticket(tmp_path / "calls.jsonl"))
        for _ in range(5):
            agent.ask("GET", "/nothing")
        assert agent.message().status == 200
        meter = gateway.end("0")

    assert [call.outcome for call in meter.calls] == ["refused"] * 3 + ["ok"]
    assert meter.unrecorded == 2
    assert len((tmp_path / "calls.jsonl").read_text().splitlines()) == 4
