"""How fast stores take small objects: a folder, and a real S3 service on this machine."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tiltyard_cluster.addresses import open_store
from tiltyard_cluster.store import FolderStore, Store

SIZE = 4000
"""Bytes of an object: a record has about as many."""
THREADS = 8
RACES = 50
RACERS = 16
SERVICE = Path(__file__).parents[1] / "infra/local_s3.py"


def measure(objects: int) -> Iterator[str]:
    """Lines for both stores."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _measure("folder", FolderStore.create(Path(folder) / "results"), objects)
        yield from _measure_s3(Path(folder) / "s3", objects)


def _measure_s3(folder: Path, objects: int) -> Iterator[str]:
    command = [sys.executable, str(SERVICE), "--folder", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        facts = json.loads(service.stdout.readline())
        os.environ |= {
            "AWS_ACCESS_KEY_ID": facts["access_key"],
            "AWS_SECRET_ACCESS_KEY": facts["secret_key"],
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        store = open_store(f"s3://{facts['bucket']}/speed", facts["endpoint"])
        yield from _measure("S3 (SeaweedFS)", store, objects)
        service.stdin.close()


def _measure(name: str, store: Store, objects: int) -> Iterator[str]:
    data = os.urandom(SIZE)
    keys = [f"runs/q/a/g/{number}/run.json" for number in range(objects)]
    one = _rate(objects, lambda: [store.put_if_absent(f"one/{key}", data) for key in keys])
    with ThreadPoolExecutor(THREADS) as pool:
        many = _rate(objects, lambda: list(pool.map(lambda key: store.put_if_absent(key, data), keys)))
        reads = _rate(objects, lambda: list(pool.map(store.get, keys)))
    listed = _rate(objects, lambda: list(store.list("runs/")))
    yield (
        f"{name}: put_if_absent {one:,.0f}/s in one thread, {many:,.0f}/s in {THREADS}; "
        f"get {reads:,.0f}/s in {THREADS}; list {listed:,.0f} keys/s"
    )
    yield f"{name}: {_races(store)} of {RACES} races of {RACERS} writers had one winner"


def _races(store: Store) -> int:
    with ThreadPoolExecutor(RACERS) as pool:
        return sum(
            sum(pool.map(lambda who: store.put_if_absent(f"race/{race}", str(who).encode()), range(RACERS)))  # noqa: B023
            == 1
            for race in range(RACES)
        )


def _rate(count: int, work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return count / (time.monotonic() - began)
