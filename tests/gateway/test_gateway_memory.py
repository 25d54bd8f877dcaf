"""A large request finds the memory that the one before it has left."""

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import Kit, Provider
from tiltyard_gateway import GatewayConfig, GatewayProcess

pytestmark = pytest.mark.slow  # a process of its own

_REQUESTS = 20
_FAULTS = 100
"""A request; it takes about 300 where its pages are given back and taken anew, and about 3 where not."""


def faults(pid: int) -> int:
    """How many pages the process has been given so far."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[7])


def test_a_large_request_needs_no_new_memory(
    config: GatewayConfig, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    text: dict[str, Any] = {"messages": [{"role": "user", "content": "word " * 200}] * 500}
    with GatewayProcess(config) as gateway:
        agent = kit.Agent(gateway.open_slot("0") / "gw.sock")
        gateway.begin("0", kit.ticket(tmp_path / "calls.jsonl"))
        before = 0
        for number in range(2 * _REQUESTS):
            if number == _REQUESTS:
                before = faults(gateway.pid)
            assert agent.ask("POST", "/v1/messages", kit.message_body() | text).status == 200
        taken = faults(gateway.pid) - before

    assert len(provider.received) == 2 * _REQUESTS
    assert taken < _FAULTS * _REQUESTS
