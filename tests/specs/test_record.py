"""The records and receipts that a trial leaves."""

# ruff: noqa: E501  (a sentence that a user reads stands on one line, where a search finds it)

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltyard_specs import DataError, Outcome, RunRecord, TrialReceipt, Usage, parse_receipt, parse_record
from tiltyard_specs.record import AgentErrorFact, Policy, Score, Spend, ToolCall

TOP = [
    "schema_version",
    "run_id",
    "trial",
    "capability",
    "question",
    "arm",
    "agent",
    "rep",
    "attempt",
    "outcome",
    "reason",
    "answer",
    "score",
    "verify",
    "usage",
    "metered",
    "reported",
    "delivered",
    "tool_calls",
    "turns",
    "seconds",
    "started_at",
    "node",
    "images",
    "versions",
]


def _record(**changes: Any) -> RunRecord:
    facts: dict[str, Any] = {
        "run_id": "0123456789abcdef",
        "trial": "t",
        "question": "q",
        "arm": "plain",
        "agent": "codex@m@low",
        "rep": 1,
        "attempt": 1,
        "outcome": Outcome.PASSED,
        "seconds": 1.5,
        "started_at": "2026-01-01T00:00:00Z",
        "node": "here",
    }
    return RunRecord(**(facts | changes))


def test_the_top_level_keys_stand_in_the_order_of_the_contract() -> None:
    assert list(json.loads(_record().to_json()))[: len(TOP)] == TOP


def test_a_record_reads_back_as_itself() -> None:
    record = _record(
        outcome=Outcome.LIMIT,
        score=Score(correct=False, recall=0.5, missing=("a",)),
        metered=Spend(usage=Usage(input=1, output=2), cost_usd=0.1, calls=3),
        tool_calls=(
            ToolCall(name="Bash", input={"command": "ls", "n": [1, None, {"x": 1.5}]}),
            ToolCall(name="x", input="raw"),
        ),
        policy=Policy(network={"allow": ["h"]}, history="none", setup_scope="image", limits={"cpus": 1.0}),
        agent_error=AgentErrorFact.model_validate(
            {"class": "rate_limit", "status": 429, "message": "slow down"}
        ),
        tampered=("tests/a.py",),
    )

    assert parse_record(record.to_json(), "run.json") == record
    assert json.loads(record.to_json())["agent_error"]["class"] == "rate_limit"
    assert record.to_data() == json.loads(record.to_json())


def test_a_newer_record_asks_for_an_upgrade_and_not_about_its_keys() -> None:
    data = _record().to_data() | {"schema_version": 3, "something_new": 1}

    with pytest.raises(DataError) as caught:
        parse_record(json.dumps(data), "runs/q/plain/a/1/run.json")

    assert str(caught.value) == (
        "runs/q/plain/a/1/run.json was written by a newer Tiltyard (schema version 3, this one reads up to 1): upgrade"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "run.json: is cut off or damaged: not valid JSON (Expecting value at line 1, column 1)"),
        (
            '{"a": 1',
            "run.json: is cut off or damaged: not valid JSON (Expecting ',' delimiter at line 1, column 8)",
        ),
        (b"\xff\xfe{", "run.json: is damaged: not JSON text"),
        ("[" * 100_000, "run.json: is damaged: not JSON text"),
        ("[]", "run.json: holds list, not an object: not written by Tiltyard"),
        ("{}", "run.json: has no schema_version, so it was not written by Tiltyard"),
        ('{"schema_version": true}', "run.json: has no schema_version, so it was not written by Tiltyard"),
    ],
)
def test_a_damaged_record_is_named(text: str | bytes, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_record(text, "run.json")

    assert str(caught.value) == sentence
    assert caught.value.exit_code == 65


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"outcome": "pased"}, 'run.json: outcome: "pased" is not allowed here; did you mean "passed"? Allowed: '),
        ({"extra": 1}, "run.json: extra: unknown key; "),
        ({"rep": "one"}, "run.json: rep: "),
        ({"agent_error": {"clas": "x"}}, 'run.json: agent_error.clas: unknown key; did you mean "class"? Allowed: class, message, status'),
        ({"seconds": float("nan")}, "run.json: seconds: expected a number, got nan"),
        ({"seconds": "5"}, 'run.json: seconds: expected a number, got "5"'),
        ({"seconds": -5}, "run.json: seconds: must be from 0 to 10^15, got -5"),
        ({"rep": True}, "run.json: rep: expected a whole number, got true"),
        ({"rep": 0}, "run.json: rep: must be from 1 to 10^15, got 0"),
        ({"turns": 10**400}, "run.json: turns: must be from 0 to 10^15, got a number of about 401 digits"),
        ({"usage": {"input": 10**30}}, "run.json: usage.input: must be from 0 to 10^15, got 1000"),
        ({"metered": {"cost_usd": -5}}, "run.json: metered.cost_usd: must be from 0 to 10^15, got -5"),
        ({"score": {"correct": True, "recall": 7.0}}, "run.json: score.recall: must be from 0 to 1, got 7.0"),
        ({"started_at": "9999-99-99"}, "run.json: started_at: expected a time such as 2026-01-31T12:00:00Z"),
    ],
)  # fmt: skip
def test_an_altered_record_is_refused_by_its_key(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_record(json.dumps(_record().to_data() | change), "run.json")

    assert str(caught.value).startswith(sentence)


def test_what_json_allows_and_no_record_holds_is_refused() -> None:
    """A key that stands there twice, also deep inside; bytes that are no UTF-8; a number of 5000 digits."""
    text = _record(answer='a "key": in an answer', tool_calls=(ToolCall(name="x", input={"a": 1}),)).to_json()

    assert parse_record(text, "run.json").answer == 'a "key": in an answer'
    for changed, sentence in (
        (text.replace('"rep": 1', '"rep": 1,"outcome": "failed"'), "outcome: this key stands there twice"),
        (text.replace('"a": 1', '"a": 1, "a" : 2'), "a: this key stands there twice"),
        (text.replace('"rep": 1', f'"rep": 1{5000 * "0"}'), "it holds a number of thousands of digits"),
    ):
        with pytest.raises(DataError, match=sentence):
            parse_record(changed, "run.json")
    with pytest.raises(DataError, match="not JSON text"):
        parse_record(text.encode().replace(b"here", b"\xed\xa0\x80"), "run.json")
    with pytest.raises(DataError, match="Unterminated string starting at line"):
        parse_record('{"a": "b', "run.json")


@given(st.integers(0, 1000))
def test_a_record_cut_off_anywhere_is_a_data_error(length: int) -> None:
    text = _record().to_json().rstrip()

    with pytest.raises(DataError, match=r"run\.json"):
        parse_record(text[: min(length, len(text) - 1)], "run.json")


def test_a_receipt_reads_back_as_itself() -> None:
    receipt = TrialReceipt.model_validate(
        {
            "trial": "t",
            "plan_id": "p",
            "seed": 7,
            "spec": {"name": "t"},
            "order": ["a", "b"],
            "runs_expected": 2,
            "engine": {"version": "20.10", "platform": "linux/amd64", "cgroup": "1"},
            "repos": {"r": {"source": ".", "commit": "abc"}},
            "selection": {"arms": ["plain"]},
        }
    )

    assert parse_receipt(receipt.to_json(), "trial.json") == receipt
    with pytest.raises(DataError, match=r"trial\.json was written by a newer Tiltyard"):
        parse_receipt(json.dumps(receipt.to_data() | {"schema_version": 2}), "trial.json")
