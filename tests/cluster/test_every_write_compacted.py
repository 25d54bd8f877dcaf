"""Compacting a result and merging parts may end at each of their writes, or find the disk full there."""

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster import dying
from tiltyard_cluster.compaction import Share, compact
from tiltyard_cluster.layout import ATTEMPT, RECORD, attempt_key, run_key
from tiltyard_cluster.merge_target import open_target
from tiltyard_cluster.merging import merge
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.reading import read_result
from tiltyard_cluster.sharding import to_file
from tiltyard_cluster.store import FolderStore
from tiltyard_specs import Outcome, RunRecord, content_id
from tiltyard_specs.errors import DataError, UnavailableError
from tiltyard_specs.receipt import Selection, TrialReceipt

pytestmark = pytest.mark.slow
KilledError, doomed = dying.KilledError, dying.doomed
RUNS = tuple(
    PlannedRun(
        f"{number:032x}", number, f"b{number // 2}", None, f"q{number // 2}", f"arm{number % 2}", "g", 1
    )
    for number in range(8)
)
WHOLE = Plan(content_id({"seed": 7, "runs": [run.run_id for run in RUNS]}, length=32), "small", 7, RUNS)


@dataclass
class Shard:
    """A part of a plan that has been run, with an earlier attempt of each run."""

    folder: Path
    runs: tuple[PlannedRun, ...]

    def make(self, record: Callable[..., RunRecord]) -> "Shard":
        store = FolderStore.create(self.folder)
        for run in self.runs:
            lost = record(run, outcome=Outcome.INFRA, attempt=1)
            store.put(f"{attempt_key(run_key(run), 1)}/{ATTEMPT}", lost.to_json().encode())
            store.put(f"{run_key(run)}/{RECORD}", record(run, attempt=2).to_json().encode())
        order = tuple(run.run_id for run in self.runs)
        receipt = TrialReceipt(
            trial="small", plan_id=WHOLE.plan_id, seed=7, spec={}, order=order,
            runs_expected=len(order), started_at="2026-01-01T00:00:00Z",
        )  # fmt: skip
        store.put("trial.json", receipt.to_json().encode())
        return self

    def compact(self) -> None:
        compact(FolderStore(self.folder), Share(WHOLE.plan_id, "small", self.runs))

    def check(self) -> None:
        """All of it can be read, by whichever form there is."""
        found = read_result(FolderStore(self.folder), "here")
        ids = [run.run_id for run in self.runs]
        assert sorted(record.run_id for record in found.records) == ids
        assert [(record.run_id, record.attempt) for record in found.attempts] == [(each, 1) for each in ids]
        assert found.problems == ()

    def merge(self, *parts: "Shard") -> None:
        """Put these parts together here."""
        plan = to_file(WHOLE, spec="t.yaml", selection=Selection(), commits={}, script=None, shards=2)
        open_target(self.folder, plan)
        sources = [(str(part.folder), FolderStore(part.folder)) for part in parts]
        merge(plan, sources, FolderStore.create(self.folder))


def content(folder: Path) -> dict[str, bytes]:
    """The files at the top of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def until_it_passes(root: Path, work: Callable[[], None], *, full: bool) -> Iterator[int]:
    """Let some work meet its fate at each of its changes in turn; yields after each time, with its number."""
    at = 0
    while True:
        with doomed(root, at, full=full) as fate:
            try:
                work()
            except (KilledError, OSError, UnavailableError):
                pass
            else:
                if len(fate.seen) <= at:
                    return
        yield at
        at += 1


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files under way lie where their changes are seen."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("full", [False, True], ids=["killed", "full"])
@pytest.mark.parametrize("again", [False, True], ids=["first", "replaced"])
@pytest.mark.usefixtures("scratch")
def test_compacting_may_end_at_every_write(
    tmp_path: Path, record: Callable[..., RunRecord], *, full: bool, again: bool
) -> None:
    """What it was made from can be read all the while; done again, it gives what it would have given."""
    calm, shard = (Shard(tmp_path / name, RUNS).make(record) for name in ("calm", "shard"))
    calm.compact()
    if again:
        shard.compact()
    count = 0
    for count in until_it_passes(tmp_path, shard.compact, full=full):  # the last one is asked for
        shard.check()
        if count % 3 == 0:
            shard.compact()
            assert content(shard.folder).items() >= content(calm.folder).items()
        elif again and count % 3 == 1:
            (shard.folder / "manifest.json").unlink(missing_ok=True)
    FolderStore(shard.folder).remove_leftovers()
    assert content(shard.folder) == content(calm.folder)
    assert count > 8


@pytest.mark.parametrize("full", [False, True], ids=["killed", "full"])
@pytest.mark.parametrize("again", [False, True], ids=["first", "replaced"])
@pytest.mark.usefixtures("scratch")
def test_merging_may_end_at_every_write(
    tmp_path: Path, record: Callable[..., RunRecord], *, full: bool, again: bool
) -> None:
    """Its place holds all of it, or no trial, and never a part of it; the parts stay as they are."""
    parts = [Shard(tmp_path / str(n), RUNS[4 * n : 4 * n + 4]).make(record) for n in range(2)]
    for part in parts:
        part.compact()
    before = [content(part.folder) for part in parts]
    calm, target = Shard(tmp_path / "calm", RUNS), Shard(tmp_path / "merged", RUNS)
    calm.merge(*parts)
    if again:
        target.merge(*parts)
    outcomes = set()
    for at in until_it_passes(tmp_path, lambda: target.merge(*parts), full=full):
        try:
            target.check()
            outcomes.add("whole")
        except DataError as error:
            assert re.search("holds no trial|is no results folder|whose writing was broken off", str(error))  # noqa: PT017  # either is right
            outcomes.add("none")
        assert [content(part.folder) for part in parts] == before
        if at % 3 == 0:
            target.merge(*parts)
            assert content(target.folder).items() >= content(calm.folder).items()
    FolderStore(target.folder).remove_leftovers()
    assert content(target.folder) == content(calm.folder)
    assert outcomes == {"none", "whole"}
