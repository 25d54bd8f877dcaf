"""How often a service is asked: a large result in S3 is looked at in few requests, several at a time."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from tiltyard_cluster import s3_store
from tiltyard_cluster.bulk import THREADS
from tiltyard_cluster.compaction import Share, compact
from tiltyard_cluster.layout import ATTEMPT, RECORD, attempt_key, run_key
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.resolve import progress
from tiltyard_cluster.s3_client import make_client
from tiltyard_cluster.s3_store import S3Store
from tiltyard_cluster.status import read_status
from tiltyard_specs import Outcome, RunRecord
from tiltyard_specs.receipt import TrialReceipt

pytestmark = pytest.mark.slow  # a real service

RUNS = tuple(
    PlannedRun(f"{number:032x}", number, f"b{number}", None, f"q{number}", "plain", "g", 1)
    for number in range(40)
)
PLAN = Plan("p" * 32, "small", 1, RUNS)
RECORDED = 30


class KilledError(BaseException):
    """Nothing that comes after it reaches the service."""


class Requests:
    """What was asked of the service: method and key, and how many requests were under way at once."""

    die_at: int | None = None
    """Number of the change before which the process dies."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.most = 0
        self.changes = 0
        self._now = 0
        self._lock = threading.Lock()

    def watch(self, client: Any) -> Any:
        client.meta.events.register("before-send.s3", self._begin)
        client.meta.events.register("response-received.s3", self._end)
        return client

    def _begin(self, request: Any, **_: Any) -> None:
        with self._lock:
            if request.method not in {"GET", "HEAD"}:
                if self.changes == self.die_at:
                    raise KilledError
                self.changes += 1
            self.asked.append((request.method, request.url.partition("?")[0]))
            self._now += 1
            self.most = max(self.most, self._now)

    def _end(self, **_: Any) -> None:
        with self._lock:
            self._now -= 1

    def of(self, name: str) -> int:
        return sum(url.endswith(f"/{name}") for _, url in self.asked)

    def forget(self) -> None:
        self.asked, self.most, self.changes = [], 0, 0


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Requests:
    found = Requests()
    make = make_client
    monkeypatch.setattr(s3_store, "make_client", lambda endpoint: found.watch(make(endpoint)))
    return found


@pytest.fixture
def store(s3_service: Any, requests: Requests, record: Callable[..., RunRecord]) -> S3Store:
    """A result with three quarters of its runs, and an earlier attempt of one."""
    store = S3Store(s3_service.bucket, f"test/{uuid4().hex}")
    objects = {f"{run_key(run)}/{RECORD}": record(run, attempt=2) for run in RUNS[:RECORDED]}
    lost = record(RUNS[0], outcome=Outcome.INFRA, attempt=1)
    objects[f"{attempt_key(run_key(RUNS[0]), 1)}/{ATTEMPT}"] = lost
    receipt = TrialReceipt(
        trial="small", plan_id=PLAN.plan_id, seed=1, spec={}, order=tuple(run.run_id for run in RUNS),
        runs_expected=len(RUNS), started_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    store.put("trial.json", receipt.to_json().encode())
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda item: store.put(item[0], item[1].to_json().encode()), objects.items()))
    requests.forget()
    return store


def test_a_start_asks_for_the_records_that_are_there_several_at_a_time(
    store: S3Store, requests: Requests
) -> None:
    """One that was killed left no compacted form."""
    found = progress(PLAN, Publisher(store))

    assert set(found.done) == {run.run_id for run in RUNS[:RECORDED]}
    assert [run.run_id for run in found.left] == [run.run_id for run in RUNS[RECORDED:]]
    # And one listing each of runs, of the manifest, and of what was set aside.
    assert requests.of(RECORD) == RECORDED
    assert len(requests.asked) == RECORDED + 3
    assert 1 < requests.most <= THREADS


def test_a_start_on_a_compacted_result_asks_for_no_record(store: S3Store, requests: Requests) -> None:
    compact(store, Share(PLAN.plan_id, "small", RUNS))
    before = progress(PLAN, Publisher(store))
    requests.forget()
    found = progress(PLAN, Publisher(store))

    assert found == before
    assert len(found.done) == RECORDED
    assert requests.of(RECORD) == 0
    assert len(requests.asked) == 4
    requests.forget()
    assert progress(PLAN, Publisher(store), found.done) == found
    assert len(requests.asked) <= 2


def test_a_record_that_was_removed_is_not_done_whatever_the_manifest_says(store: S3Store) -> None:
    """Removing it is how a user asks for the run again."""
    compact(store, Share(PLAN.plan_id, "small", RUNS))
    store.remove(f"{run_key(RUNS[3])}/{RECORD}")

    assert RUNS[3] in progress(PLAN, Publisher(store)).left


def test_compacting_reads_each_record_once(store: S3Store, requests: Requests) -> None:
    manifest = compact(store, Share(PLAN.plan_id, "small", RUNS))

    assert (manifest.present, manifest.partial) == (RECORDED, True)
    assert manifest.files["attempts.jsonl.zst"].rows == 1
    assert requests.of(RECORD) == RECORDED
    assert len(requests.asked) < RECORDED + 12
    assert 1 < requests.most <= THREADS


def test_status_of_a_compacted_result_reads_a_handful_of_objects(store: S3Store, requests: Requests) -> None:
    while_under_way = read_status(str(store))
    assert (while_under_way.present, while_under_way.attempts) == (RECORDED, 1)
    assert requests.of(RECORD) == RECORDED
    compact(store, Share(PLAN.plan_id, "small", RUNS))
    requests.forget()

    assert read_status(str(store)) == while_under_way
    assert requests.of(RECORD) == 0
    assert len(requests.asked) <= 5


def test_compacting_may_end_before_each_of_its_writes(store: S3Store, requests: Requests) -> None:
    """What is there can be read all the while, and the next time ends it."""
    share = Share(PLAN.plan_id, "small", RUNS)
    whole = read_status(str(store))
    compact(store, share)
    at = 0
    while True:
        requests.forget()
        requests.die_at = at
        try:
            manifest = compact(store, share)
            break
        except KilledError:
            requests.die_at = None
            assert read_status(str(store)) == whole
        at += 1
    assert at == 5  # the old manifest, three files, the new one
    requests.die_at = None
    assert store.get("manifest.json") == manifest.to_json().encode()
