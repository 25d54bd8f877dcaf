"""An overloaded provider: its answer passes as it is, and further requests of all runs are held back."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.gateway.conftest import Agent, Exchange, Kit, Provider
from tiltyard_gateway import GatewayConfig, GatewayProcess, Upstream
from tiltyard_gateway.holds import Holds, is_overload, retry_after

pytestmark = pytest.mark.slow  # many processes

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (429, None, True),
        (529, "", True),
        (503, "The model is overloaded. Please try again later.", True),
        (500, '{"type": "overloaded_error"}', True),
        (200, "Overloaded", True),
        (200, "Rate limit reached for gpt-a", True),
        (400, "the word overloaded in a prompt", False),
        (500, "internal", False),
        (200, None, False),
    ],
)
def test_overload_is_told_by_status_and_by_words(status: int, text: str | None, expected: bool) -> None:
    assert is_overload(status, text) is expected


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "Thu, 01 Jan 2026 00:00:09 GMT"}, 9),
        ({"Retry-After": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0),
        ({"retry-after-ms": "250", "Retry-After": "7"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-1"}, None),
        ({}, None),
    ],
)
def test_what_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


class Clock:
    """Moves when told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_pauses_double_and_a_burst_counts_once() -> None:
    clock = Clock()
    holds = Holds(longest=60, clock=clock)
    pauses = []
    for _ in range(8):
        sent = clock.now
        clock.now += 0.5
        for _ in range(5):
            holds.limited("p", sent_at=sent, pause=None)
        pauses.append(holds.left()["p"])
        clock.now += pauses[-1]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]

    holds.taken("p", sent_at=clock.now)
    holds.limited("p", sent_at=clock.now, pause=None)
    assert holds.left() == {"p": 1}
    holds.limited("p", sent_at=clock.now, pause=30)
    assert holds.left() == {"p": 30}
    holds.limited("p", sent_at=clock.now, pause=5)
    assert holds.left() == {"p": 30}, "a longer word stands"


async def test_after_a_pause_one_request_goes_first() -> None:
    clock = Clock()
    holds = Holds(longest=60, clock=clock)
    holds.limited("p", sent_at=clock.now, pause=0)
    waiting = [asyncio.create_task(holds.wait("p")) for _ in range(3)]
    await asyncio.sleep(0.01)
    assert [task.done() for task in waiting] == [True, False, False]

    holds.abandon("p")
    await asyncio.sleep(0.01)
    assert [task.done() for task in waiting] == [True, True, False], (
        "the first was not sent: the next one goes"
    )
    holds.taken("p", sent_at=clock.now)
    await asyncio.sleep(0.01)
    assert all(task.done() for task in waiting)


def limited_once(provider: Provider, **headers: str) -> list[float]:
    """The first answer is a 429; when requests came is kept."""
    came: list[float] = []

    def behaviour(exchange: Exchange) -> None:
        came.append(time.monotonic())
        if len(came) == 1:
            exchange.answer(429, {"error": {"type": "rate_limit_error", "message": "slow down"}}, **headers)
        else:
            exchange.answer(200, Kit.MESSAGE)

    provider.behaviour = behaviour
    return came


def begin(gateway: GatewayProcess, provider: Provider, kit: type[Kit], path: Path, slot: str) -> Agent:
    """A run whose provider address no other test shares."""
    own = Upstream(base_url=f"{provider.url}/{path.name}/v1", key=kit.REAL_KEY)
    folder = gateway.open_slot(slot)
    gateway.begin(slot, kit.ticket(path / f"{slot}.jsonl", anthropic=own, openai=own))
    return Agent(folder / "gw.sock")


def test_requests_of_all_runs_are_held_and_the_time_is_recorded(
    gateway: GatewayProcess, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    came = limited_once(provider, Retry_After="0.7")
    first, other = (begin(gateway, provider, kit, tmp_path, slot) for slot in ("0", "1"))
    assert first.message().status == 429
    assert next(iter(gateway.held().values())) <= 0.7
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda agent: agent.message().status, [first, other, other, first]))

    assert answers == [200] * 4
    assert min(came[1:]) - came[0] >= 0.7
    assert len(came) == 5, "nothing was sent twice"
    meters = [gateway.end(slot) for slot in ("0", "1")]
    assert meters[0].calls[0].held_seconds < 0.1
    assert all(call.held_seconds > 0.4 for call in (*meters[0].calls[1:], *meters[1].calls))
    assert meters[1].held_seconds == pytest.approx(sum(call.held_seconds for call in meters[1].calls))
    assert gateway.held() == {}


def test_an_overload_within_a_stream_counts_too(
    gateway: GatewayProcess, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    provider.behaviour = lambda exchange: exchange.stream([kit.STREAM[0], *kit.sse(error)])
    agent = begin(gateway, provider, kit, tmp_path, "0")
    agent.message(stream=True)

    assert 0 < next(iter(gateway.held().values())) <= 1


def test_a_hold_ends_before_agents_lose_patience(
    config: GatewayConfig, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    came = limited_once(provider, Retry_After="3600")
    with GatewayProcess(config.model_validate(config.model_dump() | {"timeouts": {"hold": 0.4}})) as gateway:
        agent = begin(gateway, provider, kit, tmp_path, "0")
        assert [agent.message().status for _ in range(2)] == [429, 200]

    assert 0.4 <= came[1] - came[0] < 5


def test_free_requests_are_not_held(
    gateway: GatewayProcess, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    limited_once(provider, Retry_After="30")
    agent = begin(gateway, provider, kit, tmp_path, "0")
    agent.message()
    started = time.monotonic()

    assert agent.ask("POST", "/v1/messages/count_tokens", {}).status == 200
    assert time.monotonic() - started < 5


def test_an_agent_that_hangs_up_while_held_was_not_billed(
    gateway: GatewayProcess, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    came = limited_once(provider, Retry_After="30")
    agent = begin(gateway, provider, kit, tmp_path, "0")
    agent.message()
    connection = agent.begin("POST", "/v1/messages", kit.message_body())
    threading.Event().wait(0.2)
    connection.close()
    kit.wait_until(lambda: len(gateway.calls("0")) == 2)

    call = gateway.end("0").calls[1]
    assert (call.outcome, call.charged) == ("refused", None)
    assert "held back" in (call.message or "")
    assert len(came) == 1


def test_nodes_tell_each_other(
    gateway: GatewayProcess, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    came: list[float] = []

    def behaviour(exchange: Exchange) -> None:
        came.append(time.monotonic())
        exchange.answer(200, kit.MESSAGE)

    provider.behaviour = behaviour
    agent = begin(gateway, provider, kit, tmp_path, "0")
    told = time.monotonic()
    gateway.hold({f"{provider.url}/{tmp_path.name}/v1": 0.5})

    assert agent.message().status == 200
    assert came[0] - told >= 0.5
