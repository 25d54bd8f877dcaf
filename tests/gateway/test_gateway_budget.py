"""Budgets and limits through the gateway process: what is refused, what is charged, and what is told."""

import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import Agent, Answer, Exchange, Kit, Provider
from tiltyard_gateway import GatewayConfig, GatewayProcess
from tiltyard_specs.trial import Budget

pytestmark = pytest.mark.slow  # many processes

USAGE = {"input_tokens": 100, "output_tokens": 1000}
COST = (100 * 3 + 1000 * 15) / 1e6
RESERVE = 1_250
"""Tokens of input that a small request reserves at most."""


def reply(usage: dict[str, int] | None = None) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(200, {"model": "claude-x", "usage": usage or USAGE})


def ask(agent: Agent, **more: Any) -> Answer:
    return agent.ask(
        "POST", "/v1/messages", {"model": "claude-x", "max_tokens": 1000, "messages": [], **more}
    )


@contextmanager
def running(config: GatewayConfig, **more: Any) -> Iterator[GatewayProcess]:
    """A gateway with a budget of its own."""
    with GatewayProcess(config.model_validate(config.model_dump() | more)) as gateway:
        yield gateway


def start(gateway: GatewayProcess, kit: type[Kit], path: Path, slot: str = "0", **more: Any) -> Agent:
    folder = gateway.open_slot(slot)
    gateway.begin(slot, kit.ticket(path / f"{slot}.jsonl", **more))
    return Agent(folder / "gw.sock")


def test_no_interleaving_of_workers_passes_the_budget(
    config: GatewayConfig, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    """Forty agents at once, answers of any size, some cut, some without usage; the provider keeps a bill."""
    bill: list[float] = []
    chance = random.Random(4)  # noqa: S311 - a test's dice

    def behaviour(exchange: Exchange) -> None:
        output, kind = chance.randint(1, 1000), chance.random()
        time.sleep(chance.random() / 20)
        bill.append((1000 * 3 + output * 15) / 1e6)
        if kind < 0.15:
            exchange.break_off()
        else:
            usage = {"input_tokens": 1000, "output_tokens": output}
            exchange.answer(200, {"model": "claude-x"} | ({"usage": usage} if kind > 0.3 else {}))

    provider.behaviour = behaviour
    with running(config, budget={"usd": 0.2}) as gateway:
        agents = [start(gateway, kit, tmp_path, str(slot)) for slot in range(8)]
        with ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(lambda number: ask(agents[number % 8]), range(120)))
        meters = [gateway.end(str(slot)) for slot in range(8)]
        spent = gateway.spent()

    assert sum(bill) <= spent.usd <= 0.2
    assert sum(bill) > 0.1, "most of the budget was used"
    assert {answer.status for answer in answers} == {200, 402, 502}
    assert {meter.stopped_by for meter in meters} == {"trial budget"}
    assert sum(meter.charged_usd or 0 for meter in meters) == pytest.approx(spent.usd)
    refused = [call for meter in meters for call in meter.calls if call.outcome == "refused"]
    assert {call.reason for call in refused} == {"budget"}
    left = r"it may take up to \$0\.\d+, and \$0\.\d+ of the trial's budget of \$0\.20* is left$"
    assert all(re.search(left, call.message or "") for call in refused)
    assert len(bill) + len(refused) == 120
    assert (spent.reserved_usd, spent.reserved_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("limits", "calls", "stopped_by"),
    [
        ({"usd": 2 * COST + (RESERVE * 3.75 + 1000 * 15) / 1e6}, 3, "usd"),
        ({"tokens": 2 * 1100 + RESERVE + 1000}, 3, "tokens"),
        ({"turns": 2}, 2, "turns"),
        ({"usd": 1.5 * COST, "reserve": False}, 2, "usd"),
        ({"tokens": 1101, "reserve": False}, 2, "tokens"),
    ],
)
def test_a_runs_own_limit_ends_it(
    gateway: GatewayProcess,
    provider: Provider,
    kit: type[Kit],
    tmp_path: Path,
    limits: dict[str, Any],
    calls: int,
    stopped_by: str,
) -> None:
    provider.behaviour = reply()
    agent = start(gateway, kit, tmp_path, limits=limits)
    statuses = [ask(agent).status for _ in range(calls)]
    answer = ask(agent)
    assert ask(agent, max_tokens=1).status == 402, "one refused, all refused"
    meter = gateway.end("0")

    assert statuses == [200] * calls
    assert answer.status == 402
    assert answer.headers["x-should-retry"] == "false"
    assert answer.json["error"]["type"] == "billing_error"
    assert meter.stopped_by == stopped_by
    assert [call.outcome for call in meter.calls] == ["ok"] * calls + ["refused"] * 2
    assert {call.reason for call in meter.calls[calls:]} == {"limit"}
    assert meter.charged_usd == pytest.approx(calls * COST)
    assert len(provider.received) == calls


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/responses", {"model": "gpt-a", "input": "hi"}, 400, "limit"),
        ("/v1/chat/completions", {"model": "gpt-a", "messages": []}, 404, "limit"),
        ("/v1beta/models/gemini-x:generateContent", {"contents": []}, 403, 403),
    ],
)
def test_each_api_refuses_in_the_way_that_stops_its_agents(
    gateway: GatewayProcess,
    provider: Provider,
    kit: type[Kit],
    tmp_path: Path,
    path: str,
    body: dict[str, Any],
    status: int,
    code: str | int,
) -> None:
    agent = start(gateway, kit, tmp_path, limits={"tokens": 1})
    answer = agent.ask("POST", path, body)

    assert (answer.status, answer.json["error"]["code"]) == (status, code)
    assert "this call is not made: it may take up to" in answer.json["error"]["message"]
    assert not provider.received


def test_a_limit_in_usd_refuses_a_model_without_a_price(
    gateway: GatewayProcess, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    agent = start(gateway, kit, tmp_path, limits={"usd": 100})
    answer = ask(agent, model="nobody-knows")
    meter = gateway.end("0")

    assert answer.status == 402
    assert "its price is unknown" in answer.json["error"]["message"]
    assert (meter.stopped_by, meter.calls[0].reason) == ("unpriced", "unpriced")
    assert not provider.received


def test_calls_of_unknown_usage_are_charged_as_reserved(
    gateway: GatewayProcess, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    agent = start(gateway, kit, tmp_path)
    body = {"model": "claude-x", "max_tokens": 1000, "messages": []}
    worst = len(json.dumps(body)) + 1024 + 1000
    provider.behaviour = lambda exchange: exchange.break_off()
    ask(agent)
    provider.behaviour = lambda exchange: exchange.stream(kit.STREAM[:3])
    ask(agent, stream=True)
    provider.behaviour = reply()
    ask(agent)
    provider.behaviour = lambda exchange: exchange.answer(429, {"error": {"message": "slow down"}})
    ask(agent)
    meter = gateway.end("0")

    assert [call.charged for call in meter.calls] == ["reserve", "reserve", "usage", None]
    assert [call.charged_tokens for call in meter.calls] == [worst, 600 + 1000, 1100, None]
    assert meter.calls[1].charged_usd == pytest.approx((100 * 3 + 300 * 0.3 + 200 * 3.75 + 1000 * 15) / 1e6)
    assert meter.calls[3].charged_usd is None


def test_errors_are_no_turns(
    gateway: GatewayProcess, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    agent = start(gateway, kit, tmp_path, limits={"turns": 1})
    provider.behaviour = lambda exchange: exchange.answer(500, {})
    assert [ask(agent).status for _ in range(3)] == [500] * 3
    provider.behaviour = reply()

    assert [ask(agent).status for _ in range(2)] == [200, 402]
    assert gateway.meter("0").stopped_by == "turns"


def test_earlier_spend_counts_and_a_lease_can_grow(
    config: GatewayConfig, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    provider.behaviour = reply()
    spent = {"usd": 0.09, "tokens": 7}
    with running(config, budget={"usd": 0.1}, spent=spent) as gateway:
        agent = start(gateway, kit, tmp_path)
        assert ask(agent).status == 402
        assert gateway.end("0").stopped_by == "trial budget"
        assert gateway.spent().refused == 1
        gateway.allow(Budget(usd=0.2))
        gateway.begin("0", kit.ticket(tmp_path / "second.jsonl"))
        assert ask(agent).status == 200
        now = gateway.spent()

    assert (now.usd, now.tokens) == (pytest.approx(0.09 + COST), 1107)


def test_a_call_waits_for_room_that_others_may_leave(
    config: GatewayConfig, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    """Two worst cases do not fit, two real calls do: the second waits for the first to settle."""
    release = threading.Event()

    def behaviour(exchange: Exchange) -> None:
        release.wait(20)
        reply()(exchange)

    provider.behaviour = behaviour
    with running(config, budget={"tokens": 4000}) as gateway, ThreadPoolExecutor(2) as pool:
        agent = start(gateway, kit, tmp_path)
        answers = [pool.submit(ask, agent) for _ in range(2)]
        kit.wait_until(lambda: len(provider.received) == 1)
        time.sleep(0.3)
        assert len(provider.received) == 1
        assert gateway.spent().reserved_tokens > 1000
        release.set()
        assert [answer.result().status for answer in answers] == [200, 200]
        held = sorted(call.held_seconds for call in gateway.end("0").calls)

    assert held[0] < 0.1
    assert held[1] >= 0.3


def test_an_agent_that_hangs_up_while_it_waits_costs_nothing(
    config: GatewayConfig, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    release = threading.Event()

    def behaviour(exchange: Exchange) -> None:
        release.wait(20)
        reply()(exchange)

    provider.behaviour = behaviour
    body = {"model": "claude-x", "max_tokens": 1000, "messages": []}
    with running(config, budget={"tokens": 4000}) as gateway:
        agent = start(gateway, kit, tmp_path)
        first = agent.begin("POST", "/v1/messages", body)
        kit.wait_until(lambda: len(provider.received) == 1)
        second = agent.begin("POST", "/v1/messages", body)
        time.sleep(0.2)
        second.close()
        kit.wait_until(lambda: len(gateway.calls("0")) == 1)
        release.set()
        assert json.loads(first.getresponse().read())["usage"] == USAGE
        meter = gateway.end("0")
        assert gateway.spent().reserved_tokens == 0

    assert [(call.outcome, call.charged_tokens) for call in meter.calls] == [("ok", 1100), ("refused", None)]
    assert len(provider.received) == 1


def test_a_wait_for_room_has_an_end(
    config: GatewayConfig, provider: Provider, kit: type[Kit], tmp_path: Path
) -> None:
    release = threading.Event()
    provider.behaviour = lambda _: release.wait(20)
    body = {"model": "claude-x", "max_tokens": 1000, "messages": []}
    with running(config, budget={"tokens": 4000}, timeouts={"room": 0.3}) as gateway:
        agent = start(gateway, kit, tmp_path)
        agent.begin("POST", "/v1/messages", body)
        kit.wait_until(lambda: len(provider.received) == 1)
        assert ask(agent).status == 402
        assert gateway.meter("0").stopped_by == "trial budget"
        release.set()


@pytest.mark.parametrize(
    ("bounded", "output", "told"), [(True, 1001, True), (True, 10, False), (False, 9999, False)]
)
def test_a_call_that_passes_its_reserve_is_marked(
    gateway: GatewayProcess,
    provider: Provider,
    kit: type[Kit],
    tmp_path: Path,
    *,
    bounded: bool,
    output: int,
    told: bool,
) -> None:
    """No provider answers beyond the cap of a request; a script may."""
    usage = {"input_tokens": RESERVE, "output_tokens": output}
    provider.behaviour = lambda exchange: exchange.answer(200, {"model": "claude-x", "usage": usage})
    agent = start(gateway, kit, tmp_path, limits={"tokens": 10**6} if bounded else {})

    assert ask(agent).status == 200
    assert gateway.end("0").calls[0].over_reserve is told
