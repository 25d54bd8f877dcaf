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
    ],
)  # fmt: skip
def test_an_altered_record_is_refused_by_its_key(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_record(json.dumps(_record().to_data() | change), "run.json")

    assert str(caught.value).startswith(sentence)


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
