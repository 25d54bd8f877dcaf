"""An attempt that one machine saves late, when another has used its number meanwhile: both are counted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tiltyard_cluster import FolderStore, PlannedRun, Store
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.reading import ReadResult, read_result
from tiltyard_cluster.recovery import recover
from tiltyard_cluster.s3_store import S3Store
from tiltyard_cluster.shared_publisher import SharedPublisher
from tiltyard_cluster.staging import begin
from tiltyard_specs import Call, Outcome, RunRecord, Usage

pytestmark = pytest.mark.slow  # a real service
MakeRecord = Callable[..., RunRecord]
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
        "usage": Usage(input=7, output=0),
        "cost_usd": 0.5,
        "seconds": 0.1,
        "first_byte_seconds": 0.1,
    }
).model_dump_json()


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        return FolderStore.create(tmp_path / "result")
    service: Any = request.getfixturevalue("s3_service")
    return S3Store(service.bucket, f"test/{uuid4().hex}")


class Machine:
    """One of two that work on a result, one after the other."""

    def __init__(self, home: Path, store: Store) -> None:
        home.mkdir()
        self.home = home
        self.store = store

    def attempt(self, run: PlannedRun, number: int) -> Path:
        folder = begin(self.home, run, number).folder
        (folder / "raw.out").write_text(self.home.name)
        (folder / "calls.jsonl").write_text(CALL + "\n")
        return folder

    def recover(self) -> int:
        return recover(self.home, "small", Publisher(self.store))


@pytest.fixture
def late(tmp_path: Path, store: Store, planned: PlannedRun) -> Machine:
    """It was killed in its first attempt, of which no other machine knows."""
    machine = Machine(tmp_path / "late", store)
    machine.attempt(planned, 1)
    return machine


@pytest.fixture
def other(tmp_path: Path, store: Store) -> Machine:
    return Machine(tmp_path / "other", store)


def tokens(result: ReadResult) -> dict[int, int | None]:
    """What each attempt spent, by its number."""
    return {
        record.attempt: record.usage.input if record.usage else None
        for record in (*result.records, *result.attempts)
    }


def test_the_other_attempt_has_settled_the_run(
    late: Machine, other: Machine, planned: PlannedRun, record: MakeRecord
) -> None:
    settled = record(planned, attempt=1, tokens=30)
    Publisher(late.store).final(planned, settled, other.attempt(planned, 1))

    assert late.recover() == 1
    found = read_result(late.store, "here")
    assert found.records == (settled,)
    assert tokens(found) == {1: 30, 2: 7}
    assert late.recover() == 0
    assert read_result(late.store, "here") == found


def test_the_other_attempt_has_settled_nothing(
    late: Machine, other: Machine, planned: PlannedRun, record: MakeRecord
) -> None:
    """Its record stays as it is, and the run's next attempt comes after both."""
    lost = record(planned, outcome=Outcome.INFRA, attempt=1, tokens=30)
    Publisher(late.store).earlier(planned, lost, other.attempt(planned, 1))

    assert late.recover() == 1
    assert tokens(read_result(late.store, "here")) == {1: 30, 2: 7}
    assert Publisher(late.store).next_attempt(planned) == 3


def test_a_node_of_a_cluster_has_claimed_the_number(late: Machine, planned: PlannedRun) -> None:
    """What it will put there is no other machine's to take."""
    assert SharedPublisher(late.store).claim(planned, 1, "node-2")

    assert late.recover() == 1
    assert tokens(read_result(late.store, "here")) == {2: 7}


def test_nobody_else_has_used_it(late: Machine) -> None:
    assert late.recover() == 1
    assert tokens(read_result(late.store, "here")) == {1: 7}
