"""A run whose calls are held back is not out of time for that."""

import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from tiltyard_gateway.client import GatewayProcess
from tiltyard_gateway.config import GatewayConfig, LeaseOrder, scripted_upstreams
from tiltyard_gateway.waiting import Waiting
from tiltyard_runner.job import Key, Place
from tiltyard_runner.owner import Owner
from tiltyard_runner.slot import Slot
from tiltyard_specs.outcomes import Outcome

CALL = """
import json, os, urllib.request
body = {"model": "model-a", "max_tokens": 50, "messages": [{"role": "user", "content": "six by seven"}]}
request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
    {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01",
     "content-type": "application/json"})
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
"""
TIMEOUT = 4.0


def test_calls_that_wait_side_by_side_wait_once() -> None:
    moments = iter([10.0, 17.0, 20.0, 25.0, 26.0])
    waiting = Waiting(lambda: next(moments))
    with waiting.one():
        with waiting.one():
            pass
        assert waiting.seconds == 7.0
    assert waiting.seconds == 10.0
    with waiting.one():
        pass
    assert waiting.seconds == 11.0


@pytest.fixture
def leased(bench: Any, scripted_model: Any, image_builder: Any) -> Any:
    """A place whose meter has a lease of nothing yet."""
    config = GatewayConfig.model_validate({
        "upstreams": scripted_upstreams(scripted_model.base_url),
        "prices": {"model-a": {"input": 1, "output": 10}},
        "budget": {"tokens": 100_000},
        "leased": True,
    })  # fmt: skip
    with GatewayProcess(config) as gateway:
        slot = Slot(
            bench.place.client,
            name="0",
            image=image_builder.forwarder().id,
            socket_folder=gateway.open_slot("0"),
            owner=Owner.current(),
            trial="tests",
            sealed=True,
        )
        with slot:
            yield replace(bench.place, gateway=gateway, slot=slot)


@pytest.mark.engine
@pytest.mark.slow
def test_time_without_a_lease_is_not_the_runs_time(bench: Any, leased: Place) -> None:
    """The lease comes when the timeout has long passed: the call is answered, and so is the question."""

    def grant() -> None:
        end = time.monotonic() + 120
        while leased.gateway.lease(LeaseOrder(granted=0)).wants == 0 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(TIMEOUT + 1)
        leased.gateway.lease(LeaseOrder(granted=100_000))

    granting = threading.Thread(target=grant)
    granting.start()
    key = Key(expect=("42",))
    result = bench.python(CALL, place=leased, edits=False, timeout=TIMEOUT, key=key)
    granting.join()

    assert result.record.outcome is Outcome.PASSED, result.record.reason
    assert result.record.seconds > TIMEOUT
    (call,) = [json.loads(line) for line in result.text("calls.jsonl").splitlines()]
    assert call["held_seconds"] > TIMEOUT


@pytest.mark.engine
@pytest.mark.slow
def test_time_of_its_own_still_ends_a_run(bench: Any, leased: Place) -> None:
    leased.gateway.lease(LeaseOrder(granted=100_000))
    result = bench.python(f"{CALL}\nimport time; time.sleep(600)", place=leased, edits=False, timeout=TIMEOUT)

    assert result.record.outcome is Outcome.TIMEOUT
