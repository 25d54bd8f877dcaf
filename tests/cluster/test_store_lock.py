"""One driver at a time on a place in S3, and whole results copied there and back, on a real service."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tiltyard_cluster.s3_store import S3Store
from tiltyard_cluster.store import FolderStore
from tiltyard_cluster.store_lock import LOCK, StoreLock, holder
from tiltyard_cluster.transfer import transfer
from tiltyard_specs import DataError, UnavailableError

pytestmark = pytest.mark.slow
PATIENCE = 60.0
ELSEWHERE = {"owner": {"machine": "other:boot:ns", "pid": 7, "started": "1"}, "nonce": "x"}


@pytest.fixture
def store(s3_service: Any) -> S3Store:
    return S3Store(s3_service.bucket, f"lock/{uuid4().hex}")


@pytest.fixture
def place(store: S3Store) -> str:
    return str(store)


def lock(store: S3Store, told: list[str] | None = None, **options: Any) -> StoreLock:
    said = [] if told is None else told
    options.setdefault("on_lost", lambda: None)
    return StoreLock(store, tell=said.append, **options)


def test_the_lock_is_there_while_it_is_held(store: S3Store) -> None:
    assert holder(store) is None
    with lock(store):
        assert "process" in str(holder(store))
        with pytest.raises(UnavailableError, match="is running a trial in s3://"), lock(store):
            pass
    assert holder(store) is None
    assert store.tagged(LOCK) is None


def test_who_died_on_this_machine_is_succeeded_at_once(store: S3Store) -> None:
    code = "import json; from dataclasses import asdict; from tiltyard_runner.owner import Owner; "
    code += "print(json.dumps({'owner': asdict(Owner.current())}))"
    dead = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    store.put(LOCK, dead)

    assert holder(store) is None
    with lock(store):
        assert json.loads(store.get(LOCK) or b"")["owner"]["pid"] != json.loads(dead)["owner"]["pid"]


def test_who_is_silent_elsewhere_is_succeeded_after_a_while(store: S3Store) -> None:
    told: list[str] = []
    store.put(LOCK, json.dumps(ELSEWHERE).encode())
    with lock(store, told, stale=2.0):
        assert b"other" not in (store.get(LOCK) or b"")
    assert "waiting to see whether it is alive" in told[0]
    assert len(told) == 1


def test_who_gives_a_sign_of_life_elsewhere_is_not(store: S3Store) -> None:
    store.put(LOCK, json.dumps(ELSEWHERE).encode())
    sign = threading.Timer(2.0, lambda: store.put(LOCK, json.dumps(ELSEWHERE | {"renewed": 2}).encode()))
    sign.start()
    with (
        pytest.raises(UnavailableError, match=r"another tiltyard \(other, process 7\) is running"),
        lock(store),
    ):
        pass
    sign.join()
    assert b"other" in (store.get(LOCK) or b"")


def test_it_is_renewed(store: S3Store) -> None:
    with lock(store, renewed=0.1):
        first, end = store.get(LOCK), time.monotonic() + PATIENCE
        while store.get(LOCK) == first:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_who_lost_it_is_told_and_leaves_the_successor_alone(store: S3Store) -> None:
    lost = threading.Event()
    with lock(store, renewed=0.1, on_lost=lost.set) as mine:
        store.put(LOCK, json.dumps(ELSEWHERE).encode())
        assert lost.wait(PATIENCE)
        assert mine.lost
    assert b"other" in (store.get(LOCK) or b"")


def a_result(root: Path) -> FolderStore:
    store = FolderStore.create(root)
    for key in ("trial.json", "manifest.json", "runs/q/a/g/1/run.json", "runs/q/a/g/1/raw.out"):
        store.put(key, key.encode() * 100)
    return store


def test_a_result_goes_to_s3_and_back(tmp_path: Path, place: str, store: S3Store) -> None:
    source = a_result(tmp_path / "source")
    pushed, again = transfer(source.root, place), transfer(source.root, place)
    pulled = transfer(place, tmp_path / "target")

    assert [(each.copied, each.equal) for each in (pushed, again, pulled)] == [(4, 0), (0, 4), (4, 0)]
    assert set(store.list("")) == set(source.list(""))
    for key in source.list(""):
        assert (tmp_path / "target" / key).read_bytes() == source.get(key) == store.get(key)


def test_a_copy_that_was_broken_off_goes_on(tmp_path: Path, place: str, store: S3Store) -> None:
    source = a_result(tmp_path / "source")
    store.put("runs/q/a/g/1/raw.out", source.get("runs/q/a/g/1/raw.out") or b"")

    assert transfer(source.root, place).copied == 3


def test_nothing_is_overwritten(tmp_path: Path, place: str, store: S3Store) -> None:
    """Not even the rest is copied: a mixture of two results would be none."""
    source = a_result(tmp_path / "source")
    store.put("trial.json", b"other")

    with pytest.raises(DataError, match=r"holds other objects than .*: trial\.json; nothing was copied"):
        transfer(source.root, place)
    assert list(store.list("")) == ["trial.json"]


def test_nothing_is_copied_while_a_trial_runs(tmp_path: Path, place: str, store: S3Store) -> None:
    source = a_result(tmp_path / "source")
    with lock(store), pytest.raises(UnavailableError, match="a trial is running in s3://"):
        transfer(source.root, place)


def test_what_holds_no_trial_is_not_copied(tmp_path: Path, place: str) -> None:
    FolderStore.create(tmp_path / "source").put("notes.txt", b"x")
    with pytest.raises(DataError, match="holds no trial"):
        transfer(tmp_path / "source", place)
