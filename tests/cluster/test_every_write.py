"""A driver that dies before any one of its writes, or whose disk is full from there on, loses no result.

Python tells its audit hooks of each change of the file system before it is made. That makes the list of write
points complete by itself: every change that a start makes below its results folder is a place to die.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.cluster import dying
from tiltyard_cluster.folder import only_one
from tiltyard_cluster.layout import ATTEMPT, RECORD, run_key
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.reading import read_result
from tiltyard_cluster.recovery import recover
from tiltyard_cluster.resolve import progress, retire_failed
from tiltyard_cluster.staging import begin, write_down
from tiltyard_cluster.store import FolderStore
from tiltyard_specs import Outcome, RunRecord
from tiltyard_specs.calls import Call
from tiltyard_specs.errors import UnavailableError
from tiltyard_specs.record import parse_record

KilledError, doomed = dying.KilledError, dying.doomed
STAGING = ".staging"
TOKENS = 110
"""What each attempt spends."""
CALL = Call.model_validate(
    {
        "index": 1,
        "started_at": "2026-01-01T00:00:00Z",
        "wire": "anthropic",
        "method": "POST",
        "path": "/v1/messages",
        "role": "m",
        "model": "m",
        "stream": False,
        "status": 200,
        "outcome": "ok",
        "usage": {"input": TOKENS, "output": 0},
        "cost_usd": 0.5,
        "seconds": 0.1,
        "first_byte_seconds": 0.1,
    }
).model_dump_json()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What survives a power failure is not seen here, and costs most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@dataclass(frozen=True)
class Step:
    """One start of the trial: what it is asked for, and how its attempts end."""

    runs: tuple[PlannedRun, ...]
    lost: int = 0
    """Attempts of each run that are lost before the one that settles it."""
    outcome: Outcome = Outcome.PASSED
    retry: bool = False


@dataclass
class Driver:
    """A trial's starts, as far as files go; what an attempt leaves is made up."""

    root: Path
    make: Callable[..., RunRecord]
    paid: list[tuple[str, int]] = field(default_factory=list)
    """Attempts that made a call."""

    def start(self, step: Step) -> None:
        store = FolderStore.create(self.root)
        with only_one(self.root):
            store.remove_leftovers()
            publisher = Publisher(store)
            recover(self.root / STAGING, "small", publisher)
            plan = Plan("p", "small", 7, step.runs)
            before = progress(plan, publisher)
            if step.retry:
                before = retire_failed(plan, before, publisher)
            for run in before.left:
                self._settle(publisher, run, step)
            with suppress(OSError):
                (self.root / STAGING).rmdir()

    def _settle(self, publisher: Publisher, run: PlannedRun, step: Step) -> None:
        first = publisher.next_attempt(run)
        for attempt in range(first, first + step.lost + 1):
            last = attempt == first + step.lost
            folder = begin(self.root / STAGING, run, attempt).folder
            (folder / "prompt.txt").write_text("2+2?")
            (folder / "calls.jsonl").write_text(CALL + "\n")
            self.paid.append((run.run_id, attempt))
            (folder / "raw.out").write_text("4")
            outcome = step.outcome if last else Outcome.INFRA
            record = self.make(run, outcome=outcome, attempt=attempt, tokens=TOKENS)
            (publisher.final if last else publisher.earlier)(run, record, folder)
            shutil.rmtree(folder)

    def check(self, step: Step) -> None:
        """Every run settled, every attempt's spend there, and nothing else."""
        found = read_result(FolderStore.open(self.root), "here")
        assert found.problems == ()
        asked = {run.run_id for run in step.runs}
        settled = {record.run_id: record for record in found.records}
        assert {run_id: settled[run_id].outcome for run_id in asked} == dict.fromkeys(asked, step.outcome)
        everything = [*found.records, *found.attempts, *_set_aside(self.root)]
        assert sorted((each.run_id, each.attempt) for each in everything) == sorted(self.paid)
        assert {each.usage.input for each in everything if each.usage} == {TOKENS}
        for record in settled.values():
            beside = {path.name for path in (self.root / run_key(record)).iterdir()} - {"attempts"}
            assert beside == {"run.json", "prompt.txt", "calls.jsonl", "raw.out"}
        assert {path.name for path in self.root.iterdir()} <= {".lock", "runs", "superseded"}
        assert list(self.root.rglob(".*")) == [self.root / ".lock"]


def _set_aside(root: Path) -> list[RunRecord]:
    kept = [*root.glob("superseded/*/run.json"), *root.glob("superseded/*/attempts/*/attempt.json")]
    return [parse_record(path.read_bytes(), str(path)) for path in kept]


A = PlannedRun("a" * 32, 0, "block", None, "q", "a", "g", 1)
B = replace(A, run_id="b" * 32, position=1, arm="b")
CHANGED = replace(A, run_id="c" * 32)
STORIES = {
    "a run that is lost once": [Step((A, B), lost=1)],
    "a run that is opened again": [Step((A,), outcome=Outcome.SETUP_FAILED), Step((A, B), retry=True)],
    "a spec that changes and changes back": [Step((A, B)), Step((CHANGED, B), lost=1), Step((A, B))],
}


def tell(
    driver: Driver, steps: Sequence[Step], at: int | None, *, full: bool = False, again: int | None = None
) -> tuple[int, bool]:
    """Make the starts of a story; at its fate the driver dies and the start is made again.

    Returns:
        How many changes were seen up to there, and whether its fate met the driver.
    """
    seen, met = 0, False
    for step in steps:
        with doomed(driver.root, None if met or at is None else at - seen, full=full) as fate:
            try:
                driver.start(step)
            except (KilledError, OSError, UnavailableError):
                met = True
        seen += 0 if met else len(fate.seen)
        if met and fate.at is not None:
            with doomed(driver.root, again), suppress(KilledError):
                driver.start(step)
            driver.start(step)
    return seen, met


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True], ids=["killed", "full"])
@pytest.mark.parametrize("story", STORIES)
def test_every_write_may_be_the_last(
    story: str, tmp_path: Path, record: Callable[..., RunRecord], *, full: bool
) -> None:
    whole = Driver(tmp_path / "whole", record)
    total, _ = tell(whole, STORIES[story], None)
    whole.check(STORIES[story][-1])
    met = 0

    for at in range(total):
        driver = Driver(tmp_path / str(at), record)
        met += tell(driver, STORIES[story], at, full=full)[1]
        driver.check(STORIES[story][-1])

    # Without room a removal still works, so that fewer changes fail.
    assert met == total if not full else met > total / 3


def _other_machine(root: Path, make: Callable[..., RunRecord], left: str) -> FolderStore:
    """A run that one machine has settled at its first attempt, while another's first one was broken off."""
    store = FolderStore.create(root / "result")
    own = begin(_staging(root / "theirs"), A, 1).folder
    (own / "raw.out").write_text("theirs")
    Publisher(store).final(A, make(A, attempt=1, tokens=1), own)
    folder = begin(_staging(root / "late"), A, 1).folder
    (folder / "calls.jsonl").write_text(CALL + "\n")
    (folder / "raw.out").write_text("late")
    outcome = Outcome.PASSED if left == RECORD else Outcome.INFRA
    if left in {RECORD, ATTEMPT}:
        write_down(folder, left, make(A, outcome=outcome, attempt=1, tokens=TOKENS).to_json().encode())
    return store


def _staging(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("left", [RECORD, ATTEMPT, "calls"])
def test_a_late_attempt_whose_number_another_machine_used_is_kept_once(
    left: str, tmp_path: Path, record: Callable[..., RunRecord]
) -> None:
    """Whenever who saves it is killed: it gets a number of its own, and takes nothing from the other."""
    total, at = 99, 0
    while at <= total:
        root = tmp_path / str(at)
        root.mkdir()
        store = _other_machine(root, record, left)
        with doomed(root, at) as fate, suppress(KilledError):
            recover(root / "late", "small", Publisher(store))
            total = len(fate.seen)
        assert recover(root / "late", "small", Publisher(store)) <= 1

        found = read_result(store, "here")
        (settled,), (late,) = found.records, found.attempts
        assert (settled.attempt, settled.usage.input if settled.usage else 0) == (1, 1)
        assert (late.attempt, late.usage.input if late.usage else 0) == (2, TOKENS)
        assert (root / "result" / run_key(A) / "raw.out").read_text() == "theirs"
        assert (root / "result" / run_key(A) / "attempts/2/raw.out").read_text() == "late"
        assert list((root / "late").iterdir()) == []
        at += 1
    assert 5 < total < 40


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES)
def test_the_start_that_mends_it_may_be_killed_too(
    story: str, tmp_path: Path, record: Callable[..., RunRecord]
) -> None:
    total, _ = tell(Driver(tmp_path / "whole", record), STORIES[story], None)

    for at in range(0, total, 4):
        for again in range(0, 30, 4):
            driver = Driver(tmp_path / f"{at}-{again}", record)
            tell(driver, STORIES[story], at, again=again)
            driver.check(STORIES[story][-1])
