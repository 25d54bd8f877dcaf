"""`tiltyard fidelity` on results that are written by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def _call(index: int, role: str, model: str | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "index": index, "started_at": "2026-01-01T00:00:00Z", "wire": "anthropic", "method": "POST",
        "path": "/v1/messages", "role": role, "model": model or role, "stream": True, "status": 200,
        "outcome": "ok", "usage": {"input": 90, "output": 10}, "cost_usd": 0.25, "seconds": 1.0,
        "first_byte_seconds": 0.1,
    } | changes  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a run with its calls; the receipt says which model each agent was told to use."""
    folder = tmp_path / "results"

    def write(rep: int, *calls: dict[str, Any], arm: str = "plain", **changes: Any) -> Path:
        record = {
            "schema_version": 1, "run_id": f"{arm}{rep}".ljust(32, "0"), "trial": "t", "question": "q",
            "arm": arm, "agent": "claude", "rep": rep, "attempt": 1, "outcome": "passed", "seconds": 1.0,
            "started_at": "2026-01-01T00:00:00Z", "node": "", "kind": "claude", "model": "big",
            "metered": {"calls": sum(call["outcome"] not in {"free", "refused"} for call in calls)},
        } | changes  # fmt: skip
        path = folder / "runs" / "q" / arm / "claude" / str(rep)
        path.mkdir(parents=True)
        (path / "run.json").write_text(json.dumps(record))
        if calls:
            (path / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
        return folder

    folder.mkdir()
    spec = {
        "name": "t",
        "arms": [{"name": "plain"}, {"name": "cheap", "model": "small"}],
        "agents": [{"name": "claude", "kind": "claude", "model": "big"}],
        "questions": [{"id": "q", "prompt": "?", "expect": ["4"]}],
    }
    receipt = {"schema_version": 1, "trial": "t", "plan_id": "p", "seed": 1, "spec": spec}
    (folder / "trial.json").write_text(json.dumps(receipt))
    return write


def test_what_was_requested_and_what_answered(tiltyard: Command, write: Any) -> None:
    write(1, _call(1, "big", "big-20260101"), _call(2, "big", "big-20260101"), _call(3, "helper"))
    write(1, _call(1, "small"), arm="cheap")
    done = tiltyard("fidelity", "results")

    assert done.code == 0, done.err
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "q plain claude #1 big * big-20260101 2 200 $0.50" in lines
    assert "q plain claude #1 helper helper 1 100 $0.25" in lines
    assert "q cheap claude #1 small * small 1 100 $0.25" in lines
    assert "plain: 1 of 1 completed runs called the worker." in lines


def test_a_completed_run_without_a_call_of_the_worker(tiltyard: Command, write: Any) -> None:
    """It passed, and says nothing about the model under trial."""
    write(1, _call(1, "big"))
    write(2, _call(1, "helper"))
    done = tiltyard("fidelity", "results")

    assert done.code == 1
    assert "plain: 1 of 2 completed runs called the worker." in done.out
    assert done.out.splitlines()[-1] == "UNFAITHFUL: q plain claude #2: no call of big was answered."


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [_call(1, "big", outcome="refused", reason="budget")],
        [_call(1, "big", outcome="error", status=500, usage=None, cost_usd=None)],
    ],
)
def test_what_does_not_reach_the_worker_is_no_call_of_it(
    tiltyard: Command, write: Any, calls: list[dict[str, Any]]
) -> None:
    """No call at all, one that the meter refused, one that the provider refused."""
    write(1, *calls, _call(9, "helper")) if calls else write(1)

    assert tiltyard("fidelity", "results").code == 1


@pytest.mark.parametrize("outcome", ["infra", "unmetered", "cancelled"])
def test_a_run_that_does_not_count_need_not_call_it(tiltyard: Command, write: Any, outcome: str) -> None:
    write(1, outcome=outcome)

    assert tiltyard("fidelity", "results").code == 0


@pytest.mark.parametrize(("pattern", "code"), [("help*", 0), ("big", 1)])
def test_the_worker_may_be_named(tiltyard: Command, write: Any, pattern: str, code: int) -> None:
    write(1, _call(1, "helper"))

    assert tiltyard("fidelity", "results", "--worker", pattern).code == code


@pytest.mark.parametrize("role", ["big", "big-20260101", "claude-big-4"])
def test_a_short_or_dated_name_is_the_same_role(tiltyard: Command, write: Any, role: str) -> None:
    write(1, _call(1, role))

    assert tiltyard("fidelity", "results").code == 0


def test_the_json_holds_every_run_and_arm(tiltyard: Command, write: Any) -> None:
    unknown = _call(2, "big", usage=None, cost_usd=None)
    write(1, _call(1, "big", asked="cheap", imputed=True), unknown | {"asked": "cheap"})
    found = json.loads(tiltyard("fidelity", "results", "--json").out)

    (use,) = found["runs"][0]["uses"]
    assert use == {
        "role": "big", "asked": "cheap", "model": "big", "worker": True, "calls": 2, "answered": 2,
        "tokens": 100, "unknown_tokens": 1, "usd": 0.25, "unknown_usd": 1, "imputed": 1,
    }  # fmt: skip
    assert found["runs"][0]["expected"] == ["big"]
    assert found["runs"][0]["faithful"] is True
    assert found["arms"] == [{"arm": "plain", "runs": 1, "completed": 1, "faithful": 1, "uses": [use]}]


def test_imputed_and_unknown_cost_are_told(tiltyard: Command, write: Any) -> None:
    write(1, _call(1, "big", imputed=True), _call(2, "helper", cost_usd=None))
    out = tiltyard("fidelity", "results").out

    assert "$0.25 imputed" in out
    assert "unknown" in out
    assert "imputed: the agent's own login paid" in out


def test_calls_that_are_not_there_are_not_guessed(tiltyard: Command, write: Any) -> None:
    folder = write(1, _call(1, "big"))
    (folder / "runs/q/plain/claude/1/calls.jsonl").unlink()
    done = tiltyard("fidelity", "results")

    assert done.code == 2
    why = "runs/q/plain/claude/1/calls.jsonl is not there, or holds no call"
    assert done.out.endswith(f"UNKNOWN: q plain claude #1: {why}.\n")


def test_calls_that_are_there_in_part_are_told(tiltyard: Command, write: Any) -> None:
    """What is there shows the worker; how often it was called is not known."""
    folder = write(1, _call(1, "big"), _call(2, "big"))
    path = folder / "runs/q/plain/claude/1/calls.jsonl"
    path.write_text(path.read_text().replace('"index": 2', '"index": "'))
    done = tiltyard("fidelity", "results")

    assert done.code == 2
    assert "plain: 1 of 1 completed runs called the worker." in done.out
    assert "calls.jsonl holds 1 of the 2 calls that the record counts." in done.out


def test_a_torn_last_line_is_left_out(tiltyard: Command, write: Any) -> None:
    folder = write(1, _call(1, "big"))
    with (folder / "runs/q/plain/claude/1/calls.jsonl").open("a") as file:
        file.write('{"index": 2, "started')

    assert tiltyard("fidelity", "results").code == 0


def test_names_from_outside_move_no_cursor(tiltyard: Command, write: Any) -> None:
    write(1, _call(1, "big\x1b[2J"), _call(2, "big", "b\nig"))

    assert not set(tiltyard("fidelity", "results").out) & {"\x1b", "\r"}


def test_the_oracle_needs_no_model(tiltyard: Command, write: Any) -> None:
    write(1, kind="oracle", model=None)

    assert tiltyard("fidelity", "results", "--worker", "big").code == 0


def test_a_folder_that_is_no_result(tiltyard: Command) -> None:
    assert tiltyard("fidelity", "nowhere").code == 65
