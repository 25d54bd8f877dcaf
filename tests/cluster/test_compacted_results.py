"""The compacted form of a result: when it stands, and that it reads as the files of runs do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cluster import reading
from tiltyard_cluster.closing import require_fitting
from tiltyard_cluster.compaction import Share, compact
from tiltyard_cluster.layout import ATTEMPT, MANIFEST, RECORD, RECORDS_FILE, attempt_key, run_key
from tiltyard_cluster.merge_target import open_target
from tiltyard_cluster.merging import merge
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.places import run_files
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.reading import read_result
from tiltyard_cluster.sharding import to_file
from tiltyard_cluster.staging import begin
from tiltyard_cluster.store import FolderStore
from tiltyard_specs import DataError, Outcome, RunRecord, UsageError, content_id
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.receipt import Selection, ShardName, TrialReceipt

MakeRecord = Callable[..., RunRecord]


class Result:
    """A result of two runs, one of which has an earlier attempt, compacted."""

    def __init__(self, root: Path, record: MakeRecord, shard: ShardName | None = None) -> None:
        self.record = record
        self.store = FolderStore.create(root)
        self.runs = [
            PlannedRun(content_id(n, length=32), n, "b", None, f"q{n}", "a", "g", 1) for n in range(2)
        ]
        for run in self.runs:
            self.store.put(f"{run_key(run)}/{RECORD}", record(run, attempt=2).to_json().encode())
            self.store.put(f"{run_key(run)}/calls.jsonl", run.question.encode())
        lost = record(self.runs[0], outcome=Outcome.INFRA, attempt=1)
        self.store.put(f"{attempt_key(run_key(self.runs[0]), 1)}/{ATTEMPT}", lost.to_json().encode())
        ids = tuple(run.run_id for run in self.runs)
        self.plan = Plan(content_id({"seed": 1, "runs": ids}, length=32), "small", 1, tuple(self.runs))
        receipt = TrialReceipt(
            trial="small", plan_id=self.plan.plan_id, seed=1, spec={}, order=ids, runs_expected=2, shard=shard
        )
        self.store.put("trial.json", receipt.to_json().encode())
        compact(self.store, Share(self.plan.plan_id, "small", self.plan.runs, shard))

    @property
    def file(self) -> PlanFile:
        return to_file(self.plan, spec="t", selection=Selection(), commits={}, script=None, shards=1)

    def merged(self, root: Path) -> FolderStore:
        store = FolderStore.create(root)
        merge(self.file, [(str(self.store.root), self.store)], store)
        return store

    def staged(self, run: PlannedRun, attempt: int = 3) -> Path:
        return begin(self.store.root / ".staging", run, attempt).folder


@pytest.fixture
def result(tmp_path: Path, record: MakeRecord) -> Result:
    return Result(tmp_path / "result", record)


@pytest.mark.parametrize("change", ["earlier", "finish", "retire", "superseded", "brought_back"])
def test_whatever_changes_a_result_removes_the_manifest_first(result: Result, change: str) -> None:
    """So that nobody takes files that are out of date for the result, however a start ends."""
    run, publisher = result.runs[0], Publisher(result.store)
    other = PlannedRun("f" * 32, 0, "b", None, run.question, "a", "g", 1)
    match change:
        case "earlier":
            publisher.earlier(run, result.record(run, attempt=3), result.staged(run))
        case "finish":
            publisher.finish(run, result.record(run, attempt=2), result.staged(run))
        case "retire":
            publisher.retire(run, result.record(run, attempt=2))
        case "superseded":
            assert publisher.done(other) is None
        case _:
            result.store.move(run_key(run), f"superseded/{run.run_id}")
            assert publisher.done(run) is not None

    assert result.store.get(MANIFEST) is None
    assert result.store.get(RECORDS_FILE) is not None


def test_a_look_leaves_the_manifest(result: Result) -> None:
    publisher = Publisher(result.store)

    assert all(publisher.done(run) for run in result.runs)
    assert (
        Publisher(result.store, read_only=True).done(PlannedRun("f" * 32, 0, "b", None, "q0", "a", "g", 1))
        is None
    )
    assert result.store.get(MANIFEST) is not None


def test_both_forms_read_the_same(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of runs, the compacted form of many, and a merged result."""
    files = read_result(result.store, "x")
    merged = read_result(result.merged(tmp_path / "merged"), "y")
    monkeypatch.setattr(reading, "_MANY", 1)
    (result.store.root / run_key(result.runs[1]) / RECORD).write_text("not read")
    many = read_result(result.store, "x")

    assert files.records == many.records == merged.records
    assert files.attempts == many.attempts == merged.attempts
    assert [each.merged for each in (files, many, merged)] == [False, False, True]
    assert not many.problems


def test_a_start_that_was_broken_off_leaves_its_files_of_runs_to_read(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MANY", 1)
    Publisher(result.store).retire(result.runs[0], result.record(result.runs[0], attempt=2))

    assert [record.question for record in read_result(result.store, "x").records] == ["q1"]


def test_a_damaged_compacted_form_is_no_loss_but_of_a_merged_result(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MANY", 1)
    merged = result.merged(tmp_path / "merged")
    for store in (result.store, merged):
        path = store.root / RECORDS_FILE
        path.write_bytes(path.read_bytes()[:-3])

    assert len(read_result(result.store, "x").records) == 2
    with pytest.raises(DataError, match=r"merged/records\.jsonl\.zst was altered"):
        read_result(merged, "merged")


def test_files_of_merged_runs_are_found_where_they_lie(result: Result, tmp_path: Path) -> None:
    store = result.merged(tmp_path / "merged")
    found = read_result(store, "merged")
    files = run_files(store, "merged", found)

    for record in found.records:
        assert b"".join(files.stream(f"{run_key(record)}/calls.jsonl")) == record.question.encode()
    with pytest.raises(FileNotFoundError):
        list(files.stream("runs/other/a/g/1/calls.jsonl"))


@pytest.mark.parametrize(
    ("there", "wanted", "words"),
    [
        (None, (1, 2), "holds a whole trial, and shard 1/2 of a plan was asked for"),
        ((1, 2), None, "holds shard 1/2 of a plan, and a whole trial was asked for"),
        ((1, 2), (2, 2), "holds shard 1/2 of a plan, and shard 2/2 of a plan was asked for"),
        ((1, 2), (1, 2), None),
        (None, (1, 1), None),
    ],
)
def test_a_start_adds_to_its_own_part_only(
    tmp_path: Path, record: MakeRecord, there: Any, wanted: Any, words: str | None
) -> None:
    shards = [None if pair is None else ShardName(index=pair[0], of=pair[1]) for pair in (there, wanted)]
    result = Result(tmp_path / "result", record, shards[0])

    if words is None:
        require_fitting(result.store, "here", RunOptions(shard=shards[1]))
    else:
        with pytest.raises(UsageError, match=words):
            require_fitting(result.store, "here", RunOptions(shard=shards[1]))


def test_nothing_is_added_to_a_merged_result(result: Result, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds a merged result"):
        require_fitting(result.merged(tmp_path / "merged"), "merged", RunOptions())


def test_a_merge_goes_nowhere_that_holds_anything_else(result: Result, tmp_path: Path) -> None:
    merged = result.merged(tmp_path / "merged")
    open_target(merged.root, result.file)
    (merged.root / MANIFEST).unlink()
    open_target(merged.root, result.file)
    open_target(tmp_path / "new", result.file)
    assert not (tmp_path / "new").exists()  # a merge that is refused leaves none

    with pytest.raises(UsageError, match="so it is no merged result"):
        open_target(result.store.root, result.file)
    again = result.merged(tmp_path / "again")
    path = again.root / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {"plan_id": "0" * 32}))
    with pytest.raises(UsageError, match=r"holds the result of plan 0+; give a new"):
        open_target(again.root, result.file)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        open_target(tmp_path / "file", result.file)
