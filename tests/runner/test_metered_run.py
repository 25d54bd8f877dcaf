"""A run that calls a model: through the meter alone, with a placebo key, counted."""

import json
from typing import Any

import pytest

from tiltyard_gateway.config import Upstream
from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine]

CALL = """
import json, os, urllib.error, urllib.request
def ask(key, path="/v1/messages"):
    messages = [{"role": "user", "content": "What is six by seven?"}]
    body = {"model": "model-a", "max_tokens": 50, "messages": messages}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + path, json.dumps(body).encode(),
        {"x-api-key": key, "anthropic-version": "2023-06-01", "content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)["content"][0]["text"]
    except urllib.error.HTTPError as error:
        return error.code
"""


def test_a_call_is_answered_counted_and_priced(bench: Any) -> None:
    script = f"{CALL}\nprint(ask(os.environ['ANTHROPIC_API_KEY']))"
    result = bench.python(script, edits=False, key=Key(expect=("42",)))
    record = result.record
    assert record.outcome is Outcome.PASSED, record.reason
    assert (record.usage.input, record.usage.output) == (100, 10)
    assert record.metered.calls == 1
    assert record.metered.cost_usd == pytest.approx(100e-6 + 100e-6)
    assert record.reported is None
    assert record.turns == 1
    (call,) = _calls(result)
    assert (call["status"], call["outcome"]) == (200, "ok")


def test_the_agent_sees_a_placebo_key_of_its_own_run_and_no_other(bench: Any) -> None:
    script = f"""{CALL}
mine = os.environ["ANTHROPIC_API_KEY"]
print(mine, ask("sk-placebo-of-another-run"), ask("sk-scripted-no-provider"), ask(""), ask(mine, "/v1/files"))
"""
    first, second = (bench.python(script, edits=False) for _ in range(2))
    for result in (first, second):
        key, *refused = result.record.answer.split()
        assert key.startswith("sk-placebo-")
        assert len(key) > 30
        assert refused == ["401", "401", "401", refused[3]]
        assert refused[3].startswith("4")
        assert result.record.metered.calls == 0
        assert result.record.usage.total == 0
        assert result.record.metered.cost_usd == 0
        assert len(_calls(result)) == 4
    assert first.record.answer.split()[0] != second.record.answer.split()[0]


def test_the_real_key_is_nowhere_to_be_seen(bench: Any, scripted_model: Any) -> None:
    secret = "sk-real-0123456789-never-to-be-seen"
    upstream = Upstream.model_validate(
        {"base_url": f"{scripted_model.base_url}/v1", "key": secret, "scripted": True}
    )
    script = f"""{CALL}
print(ask(os.environ["ANTHROPIC_API_KEY"]))
for folder, _, files in os.walk("/proc"):
    for name in files:
        if name in ("environ", "cmdline"):
            try:
                print(open(os.path.join(folder, name), errors="replace").read().replace(chr(0), " "))
            except OSError:
                pass
"""
    result = bench.python(script, edits=False, upstreams={"anthropic": upstream}, key=Key(expect=("42",)))
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    assert "sk-placebo-" in result.text("raw.out")
    for path in result.folder.iterdir():
        assert secret.encode() not in path.read_bytes(), path.name
    assert secret not in result.record.to_json()


def test_what_was_spent_stands_in_the_record_of_every_end(bench: Any) -> None:
    ask = f"{CALL}\nask(os.environ['ANTHROPIC_API_KEY'])"
    timed_out = bench.python(f"{ask}\nimport time; time.sleep(60)", edits=False, timeout=2.0).record
    assert timed_out.outcome is Outcome.TIMEOUT
    crashed = bench.python(f"{ask}\nraise SystemExit(3)", edits=False).record
    assert crashed.outcome is Outcome.NO_ANSWER
    failed = bench.python(f"{ask}\nprint('ok')", key=Key(verify="exit 1")).record
    assert failed.outcome is Outcome.FAILED
    for record in (timed_out, crashed, failed):
        assert record.metered.calls == 1, record.reason
        assert record.usage.input == 100


def _calls(result: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.text("calls.jsonl").splitlines()]


def test_a_run_with_a_call_that_is_known_in_part_has_no_usage(bench: Any) -> None:
    """What is known stands under `metered` as a lower bound, beside what the budget is charged."""
    script = f"""{CALL}
import http.client
print(ask(os.environ["ANTHROPIC_API_KEY"]))
connection = http.client.HTTPConnection("127.0.0.1", 8484)
body = {{"model": "model-a", "max_tokens": 50, "stream": True,
        "messages": [{{"role": "user", "content": "Say something that never ends."}}]}}
connection.request("POST", "/v1/messages", json.dumps(body), {{"x-api-key": os.environ["ANTHROPIC_API_KEY"]}})
connection.getresponse().read(30)
connection.close()
"""
    record = bench.python(script, edits=False, key=Key(expect=("42",))).record

    assert record.outcome is Outcome.PASSED, record.reason
    assert record.usage is None
    assert record.metered.incomplete == 1
    assert record.metered.cost_usd is None
    assert record.metered.least_usd == pytest.approx(200e-6)
    assert record.metered.usage.input >= 100
    assert record.metered.charged_usd > 200e-6
    assert any("not fully known" in warning for warning in record.warnings)
