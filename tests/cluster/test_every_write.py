"""A driver that dies before any one of its writes, or whose disk is full from there on, loses no result.

Python tells its audit hooks of each change of the file system before it is made. That makes the list of write
points complete by itself: every change that a start makes below its results folder is a place to die.
"""

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cluster.folder import only_one
from tiltyard_cluster.layout import run_key
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.reading import read_result
from tiltyard_cluster.recovery import recover
from tiltyard_cluster.resolve import progress, retire_failed
from tiltyard_cluster.staging import begin
from tiltyard_cluster.store import FolderStore
from tiltyard_specs import Outcome, RunRecord
from tiltyard_specs.calls import Call
from tiltyard_specs.errors import UnavailableError
from tiltyard_specs.record import parse_record

_CHANGES = frozenset({"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "shutil.rmtree"})
_GROWS = frozenset({"os.mkdir", "os.rename", "os.link", "open"})
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
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


class KilledError(BaseException):
    """Nothing that comes after it changes a file: not even the cleaning up of who catches it."""


@dataclass
class Fate:
    """When the driver dies, or when its disk is full."""

    root: str = ""
    at: int | None = None
    """Number of the change before which it happens."""
    full: bool = False
    seen: list[str] = field(default_factory=list)

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.root or not (event in _CHANGES or (event == "open" and (args[2] or 0) & _WRITES)):
            return
        # Within `rmtree` files go by their bare names.
        if not str(args[0]).startswith(self.root) and "/" in str(args[0]):
            return
        self.seen.append(f"{event} {Path(str(args[0])).name}")
        if self.at is None or len(self.seen) <= self.at:
            return
        if not self.full:
            raise KilledError
        if event in _GROWS:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(args[0]))


FATE = Fate()
_HOOKED: list[bool] = []


@contextmanager
def doomed(root: Path, at: int | None, *, full: bool = False) -> Iterator[Fate]:
    """Within the block the fate is that of who changes something below `root`."""
    if not _HOOKED:  # a hook stays for as long as the process
        sys.addaudithook(FATE.hear)
        _HOOKED.append(True)
    FATE.root, FATE.at, FATE.full, FATE.seen = str(root), at, full, []
    try:
        yield FATE
    finally:
        FATE.root = ""


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
