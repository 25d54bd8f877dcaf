"""An agent's tool calls are kept, whatever it put into them."""

import json
from typing import Any

import pytest

from tiltyard_runner.agents import ToolCall
from tiltyard_runner.job import Key
from tiltyard_runner.recorded_calls import MAX_DEPTH, MAX_INPUT, MAX_TOTAL, recorded_calls
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import parse_record


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("value", [{"command": "ls"}, ["a"], "text", _nested(MAX_DEPTH - 1)])
def test_ordinary_inputs_stay_as_they_are(value: Any) -> None:
    assert recorded_calls([ToolCall("Bash", value)])[0].input == value


@pytest.mark.slow
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 400, 100_000])
def test_a_deep_input_is_left_out(levels: int) -> None:
    (call,) = recorded_calls([ToolCall("Bash", _nested(levels))])

    assert call.input == f"[left out: more than {MAX_DEPTH} levels deep]"


@pytest.mark.slow
def test_large_inputs_are_cut_and_the_sum_is_bounded() -> None:
    calls = recorded_calls([ToolCall("Write", {"text": "x" * 100_000})] * 1000)

    assert len(calls) == 1000
    assert all(call.name == "Write" for call in calls)
    assert sum(len(json.dumps(call.input)) for call in calls) < MAX_TOTAL + 1000 * 100
    assert str(calls[0].input).endswith(" characters]")
    assert len(str(calls[0].input)) < MAX_INPUT + 100


@pytest.mark.engine
def test_a_deep_input_ends_no_trial(bench: Any) -> None:
    """As a hostile agent printed it: the record is written and can be read again."""
    deep = '{"a":' * 400 + "1" + "}" * 400
    use = f'{{"type":"tool_use","id":"x","name":"T","input":{deep}}}'
    script = f"""
print('{{"type":"assistant","message":{{"id":"1","content":[{use}]}}}}')
print('{{"type":"result","subtype":"success","result":"OK"}}')
"""
    record = bench.python(script, edits=False, kind="claude", key=Key(expect=("OK",))).record

    assert record.outcome in {Outcome.PASSED, Outcome.UNMETERED}, record.reason
    assert [call.name for call in record.tool_calls] == ["T"]
    assert parse_record(record.to_json(), "run.json") == record
