"""A result in any state can be read: what is damaged is named, the rest counts."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cluster import FolderStore, PlannedRun
from tiltyard_cluster.reading import read_attempts, read_result
from tiltyard_specs import Outcome, RunRecord, TrialReceipt
from tiltyard_specs.errors import DataError

MakeRecord = Callable[..., RunRecord]


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore.create(tmp_path)


def receipt(*order: str) -> bytes:
    made = TrialReceipt(trial="small", plan_id="p", seed=1, spec={}, order=order, runs_expected=len(order))
    return made.to_json().encode()


def changed(record: RunRecord, **changes: Any) -> bytes:
    return json.dumps(record.to_data() | changes).encode()


RECORD = "runs/q/a/g/2/run.json"
DAMAGES: dict[str, Callable[[RunRecord], bytes]] = {
    "is cut off or damaged: not valid JSON": lambda record: record.to_json().encode()[:200],
    "is cut off or damaged: not valid JSON (Expecting value": lambda _: b"",
    "is damaged: not JSON text": lambda _: b"\xff\xfe\x00",
    "holds list, not an object: not written by Tiltyard": lambda _: b"[]",
    "has no schema_version, so it was not written by Tiltyard": lambda _: b"{}",
    "rep: Input should be a valid integer": lambda record: changed(record, rep="x"),
    'outcome: "won" is not allowed here': lambda record: changed(record, outcome="won"),
}


@pytest.mark.parametrize("words", DAMAGES)
def test_a_damaged_record_is_named_and_the_rest_is_read(
    store: FolderStore, planned: PlannedRun, record: MakeRecord, words: str
) -> None:
    good = record(planned)
    store.put("runs/q/a/g/1/run.json", good.to_json().encode())
    store.put(RECORD, DAMAGES[words](good))
    result = read_result(store, "results")

    assert result.records == (good,)
    (problem,) = result.problems
    assert problem.startswith(f"{RECORD}: {words}")


def test_a_record_of_a_newer_version(store: FolderStore, planned: PlannedRun, record: MakeRecord) -> None:
    """It says to upgrade, not that a key is unknown."""
    store.put(RECORD, changed(record(planned), schema_version=2, more=1))

    assert read_result(store, "results").problems == (
        f"{RECORD} was written by a newer Tiltyard (schema version 2, this one reads up to 1): upgrade",
    )


def test_a_damaged_receipt_is_named_and_the_records_are_read(
    store: FolderStore, planned: PlannedRun, record: MakeRecord
) -> None:
    good = record(planned)
    store.put("runs/q/a/g/1/run.json", good.to_json().encode())
    store.put("trial.json", receipt("a")[:50])
    result = read_result(store, "results")

    assert result.receipt is None
    assert result.records == (good,)
    assert result.problems[0].startswith("trial.json: is cut off or damaged")


def test_a_record_that_this_user_may_not_read(
    store: FolderStore, planned: PlannedRun, record: MakeRecord
) -> None:
    """A folder in its place stands for it: root, who runs many test suites, may read everything."""
    store.put("runs/q/a/g/1/run.json", record(planned).to_json().encode())
    store.put("runs/q/a/g/2/run.json", b"")
    path = store.root / "runs/q/a/g/2/run.json"
    path.unlink()
    path.symlink_to(path)
    result = read_result(store, "results")

    assert len(result.records) == 1
    assert result.problems == ("runs/q/a/g/2/run.json cannot be read: Too many levels of symbolic links",)


def test_records_alone_are_a_result(store: FolderStore, planned: PlannedRun, record: MakeRecord) -> None:
    store.put("runs/q/a/g/1/run.json", record(planned).to_json().encode())

    assert read_result(store, "results").receipt is None
    assert len(read_result(store, "results").records) == 1


def test_a_folder_without_a_trial(store: FolderStore) -> None:
    store.put("notes.txt", b"")
    with pytest.raises(DataError) as caught:
        read_result(store, "results")

    assert str(caught.value) == "results holds no trial: there is neither trial.json nor a record under runs/"


def test_records_of_another_spec_are_left_out(
    store: FolderStore, planned: PlannedRun, record: MakeRecord
) -> None:
    """A question that left the spec leaves its records behind; a report must not mix them in."""
    for number in "ab":
        run = replace(planned, run_id=number * 32, question=number)
        store.put(f"runs/{number}/a/g/1/run.json", record(run).to_json().encode())
    store.put("trial.json", receipt("a" * 32))
    result = read_result(store, "results")

    assert [item.question for item in result.records] == ["a"]
    assert result.problems == ()
    assert result.notes == ("left out 1 records of runs that trial.json does not list: the spec has changed",)


def test_attempts_count_once(store: FolderStore, planned: PlannedRun, record: MakeRecord) -> None:
    """Killed while a run was opened again, the same attempt lies there twice."""
    lost = record(planned, outcome=Outcome.INFRA)
    for key in ("run.json", "attempts/1/attempt.json"):
        store.put(f"runs/q/a/g/1/{key}", lost.to_json().encode())
    earlier = record(planned, outcome=Outcome.INFRA, attempt=2)
    store.put("runs/q/a/g/1/attempts/2/attempt.json", earlier.to_json().encode())

    assert read_result(store, "results").attempts == (earlier,)
    assert read_attempts(store, [lost]) == (earlier,)
