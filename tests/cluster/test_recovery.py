"""What a killed driver leaves in its staging folder, and what the next start makes of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_cluster import FolderStore, PlannedRun
from tiltyard_cluster.budget import Spent
from tiltyard_cluster.folder import only_one
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.reading import read_attempts, read_result
from tiltyard_cluster.recovery import recover
from tiltyard_cluster.staging import begin
from tiltyard_cluster.status import read_status
from tiltyard_specs import Call, Outcome, RunRecord, Usage

ATTEMPT = "runs/q/a/g/1/attempts/2"


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore.create(tmp_path)


def call(index: int, *, usd: float | None = 0.1, outcome: str = "ok") -> str:
    """A line of calls.jsonl."""
    return Call.model_validate(
        {
            "index": index,
            "started_at": "2026-01-01T00:00:00Z",
            "wire": "anthropic",
            "method": "POST",
            "path": "/v1/messages",
            "role": "m",
            "model": "m",
            "stream": False,
            "status": 200,
            "outcome": outcome,
            "usage": Usage(input=100, output=10) if outcome == "ok" else None,
            "cost_usd": usd,
            "seconds": 0.1,
            "first_byte_seconds": 0.1,
        }
    ).model_dump_json()


def left(store: FolderStore, run: PlannedRun, calls: str | bytes | None) -> Path:
    """An attempt that was under way."""
    folder = begin(store.root / ".staging", run, 2).folder
    (folder / "prompt.txt").write_text("prompt")
    if calls is not None:
        (folder / "calls.jsonl").write_bytes(calls.encode() if isinstance(calls, str) else calls)
    return folder


def test_calls_that_were_paid_for_become_an_attempt(store: FolderStore, planned: PlannedRun) -> None:
    left(store, planned, f"{call(1)}\n{call(2)}\n")

    assert recover(store.root / ".staging", "small", Publisher(store)) == 1
    (attempt,) = read_attempts(store, [])
    assert attempt.outcome is Outcome.INFRA
    assert attempt.reason == "the process that drove the trial, or its gateway, ended before this attempt did"
    assert (attempt.run_id, attempt.attempt, attempt.position) == (planned.run_id, 2, 3)
    assert attempt.usage == Usage(input=200, output=20)
    assert attempt.metered is not None
    assert attempt.metered.calls == 2
    assert attempt.metered.cost_usd == pytest.approx(0.2)
    assert set(store.list("")) == {f"{ATTEMPT}/{n}" for n in ("attempt.json", "calls.jsonl", "prompt.txt")}
    assert list((store.root / ".staging").iterdir()) == []


def test_calls_in_flight_when_the_gateway_was_killed_are_charged_at_their_worst(
    store: FolderStore, planned: PlannedRun
) -> None:
    """What was settled is known; what had only begun is unknown, and bounded by what was set aside for it."""
    folder = left(store, planned, f'{call(1)}\n{call(2)}\n{{"index": 3, "cut')
    begun = {"outcome": "hung_up", "usage": None, "cost_usd": None, "charged": "reserve"}
    worst = [
        json.loads(call(index)) | begun | {"charged_usd": 0.5, "charged_tokens": 900} for index in (2, 3, 4)
    ]
    (folder / "calls.jsonl.begun").write_text("".join(json.dumps(line) + "\n" for line in worst))

    assert recover(store.root / ".staging", "small", Publisher(store)) == 1
    (attempt,) = read_attempts(store, [])
    assert attempt.usage is None
    assert attempt.metered is not None
    assert (attempt.metered.calls, attempt.metered.incomplete) == (4, 2)
    assert (attempt.metered.cost_usd, attempt.metered.least_usd) == (None, pytest.approx(0.2))
    assert attempt.metered.usage == Usage(input=200, output=20)
    assert attempt.metered.charged_tokens == 1800
    total = Spent().plus(attempt)
    assert (total.usd, total.tokens, total.unpriced) == (pytest.approx(0.2), 220, 1)
    lines = (store.get(f"{ATTEMPT}/calls.jsonl") or b"").splitlines()
    assert [json.loads(line)["index"] for line in (*lines[:2], *lines[3:])] == [1, 2, 3, 4]


def test_keys_are_masked_in_what_a_killed_driver_left(store: FolderStore, planned: PlannedRun) -> None:
    folder = left(store, planned, f"{call(1)}\n")
    (folder / "raw.out").write_text("the key is hunter2-hunter2")

    recover(store.root / ".staging", "small", Publisher(store), secrets=("hunter2-hunter2",))

    assert store.get(f"{ATTEMPT}/raw.out") == b"the key is [redacted]"


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_a_last_line_that_was_cut(store: FolderStore, planned: PlannedRun, cut: int) -> None:
    """The calls before it count."""
    left(store, planned, f"{call(1)}\n{call(2)[:cut]}")
    recover(store.root / ".staging", "small", Publisher(store))
    (attempt,) = read_attempts(store, [])

    assert attempt.usage == Usage(input=100, output=10)


def test_bytes_that_are_no_text(store: FolderStore, planned: PlannedRun) -> None:
    left(store, planned, call(1).encode() + b"\n\xff\xfe\x00\n\n")
    recover(store.root / ".staging", "small", Publisher(store))

    assert len(read_attempts(store, [])) == 1


def test_an_unknown_price_stays_unknown(store: FolderStore, planned: PlannedRun) -> None:
    """A sum that leaves a call out would look like the whole."""
    left(store, planned, f"{call(1)}\n{call(2, usd=None)}\n")
    recover(store.root / ".staging", "small", Publisher(store))
    (attempt,) = read_attempts(store, [])

    assert attempt.metered is not None
    assert attempt.metered.cost_usd is None


@pytest.mark.parametrize("calls", [None, "", call(1, outcome="free"), call(1, outcome="refused"), "garbage"])
def test_an_attempt_that_spent_nothing_leaves_nothing(
    store: FolderStore, planned: PlannedRun, calls: str | None
) -> None:
    left(store, planned, calls)

    assert recover(store.root / ".staging", "small", Publisher(store)) == 0
    assert list(store.list("")) == []
    assert list((store.root / ".staging").iterdir()) == []


def test_a_run_that_this_start_does_not_plan(store: FolderStore, planned: PlannedRun) -> None:
    """Recovery needs no plan: with another selection the spend is saved all the same."""
    left(store, planned, call(1) + "\n")
    recover(store.root / ".staging", "small", Publisher(store))

    assert len(read_attempts(store, [])) == 1


@pytest.mark.parametrize("begun", [None, b"", b'{"run": {}}', b"[]", b'{"run": {"x": 1}, "attempt": 1}'])
def test_a_folder_that_does_not_say_whose_it_is(store: FolderStore, begun: bytes | None) -> None:
    """It was killed before any call, or is not ours: removed, and no reason to stop."""
    folder = store.root / ".staging" / "no.number"
    folder.mkdir(parents=True)
    if begun is not None:
        (folder / "begun.json").write_bytes(begun)

    assert recover(store.root / ".staging", "small", Publisher(store)) == 0
    assert not folder.exists()


def test_no_staging_folder(store: FolderStore) -> None:
    assert recover(store.root / ".staging", "small", Publisher(store)) == 0


def test_a_settled_run_stays_as_it_is(
    store: FolderStore, planned: PlannedRun, record: Callable[..., RunRecord]
) -> None:
    """A record that had been written down, of a run that is settled otherwise by now, becomes an attempt."""
    folder = left(store, planned, call(1) + "\n")
    (folder / "run.json").write_text(record(planned, attempt=2, usd=7).to_json())
    settled = record(planned, attempt=1)
    store.put("runs/q/a/g/1/run.json", settled.to_json().encode())

    assert recover(store.root / ".staging", "small", Publisher(store)) == 1
    assert Publisher(store).done(planned) == settled
    assert [attempt.attempt for attempt in read_attempts(store, [settled])] == [2]


def test_what_is_not_settled_yet_is_told(
    store: FolderStore, planned: PlannedRun, record: Callable[..., RunRecord]
) -> None:
    """Not while somebody works there: the attempts are under way then."""
    left(store, planned, call(1))
    store.put("runs/q/a/g/1/run.json", record(planned).to_json().encode())
    note = "1 attempt of a killed start is not counted yet; start the trial again"

    assert read_result(store, "r").notes == (note,)
    assert read_status(store.root).notes == (note,)
    with only_one(store.root):
        assert read_result(store, "r").notes == ()
