"""The results folder fills up, is read-only, is moved or removed; the gateway dies; the clock jumps.

Each time what is finished is safe, one sentence says what to do, and the next start ends the trial.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.mounts import fill, mounted, small_disk

pytestmark = [pytest.mark.engine, pytest.mark.slow]

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
SPEC: dict[str, Any] = {
    "defaults": {"reps": 3, "timeout": 60, "parallel": 1},
    "limits": {"memory": "128m"},
    "arms": [{"name": "plain"}],
    "agents": [{"name": "four", "kind": "text", "command": "sleep 1; echo 4"}],
    "questions": [{"id": "sum", "prompt": "2+2?", "expect": ["4"]}],
}
GO_ON = "then start the trial again to go on"


@pytest.fixture
def fresh(world: Any) -> Iterator[Any]:
    """The world without results."""
    world.write(SPEC)
    shutil.rmtree(world.out, ignore_errors=True)
    yield world
    world.end_started()
    shutil.rmtree(world.out, ignore_errors=True)


@contextmanager
def covered_read_only(folder: Path) -> Iterator[None]:
    """A read-only view of a folder over itself: open files forbid to remount the folder itself.

    The view is made read-only where nobody writes: one file open for writing would forbid that as well.
    """
    view = folder.parent / "view"
    with mounted(view, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(view)], check=True)
        # A bind mount takes over the flags of what it shows.
        with mounted(folder, "--bind", str(view)):
            yield


def started(world: Any, until: Callable[..., None], records: int = 1) -> Any:
    """A trial in its middle: some runs recorded, one under way."""
    process = world.start("run", "trial.yaml")
    until(lambda: len(world.marks()) >= records and world.under_way(), "a run under way")
    return process


def only_sentence(done: Any) -> str:
    """The last line of standard error, and the only one from `tiltyard` itself."""
    told = [line for line in done.err.splitlines() if line.startswith("tiltyard: ")]
    assert len(told) == 1, done.err
    assert done.err.splitlines()[-1] == told[0]
    return told[0]


def ended(world: Any) -> None:
    """The next start ends the trial as if nothing had been."""
    done = world("run", "trial.yaml")
    assert done.code == 0, done.err
    assert "3 of 3 runs recorded in trial-results: 3 passed" in done.out
    assert world.leftovers() == []


@root_only
def test_a_disk_that_is_full_at_the_start(fresh: Any) -> None:
    with mounted(fresh.out, *small_disk("1m")):
        done = fresh("run", "trial.yaml")

        assert done.code == 69
        told = only_sentence(done)
        assert told.startswith(f"tiltyard: the results folder {fresh.out} cannot be used: it has 1 MB free")
        assert told.endswith(f"make room there, {GO_ON}")
        assert fresh.leftovers() == []


@root_only
def test_a_disk_that_fills_up_during_the_trial(fresh: Any, until: Callable[..., None]) -> None:
    """Full to the last byte while an agent works: no run is lost to it, and none is run for nothing."""
    with mounted(fresh.out, *small_disk("40m")):
        process = started(fresh, until)
        before = fresh.marks()
        filler = fresh.out / ".filler"
        fill(filler)
        done = fresh.end(process)
        after = fresh.marks()

        assert done.code == 69
        told = only_sentence(done)
        assert told.startswith(f"tiltyard: the results folder {fresh.out} cannot be used: ")
        assert told.endswith(f"make room there, {GO_ON}")
        assert after.items() >= before.items()
        assert len(after) <= len(before) + 1
        assert fresh.containers() == []
        filler.unlink()
        ended(fresh)


@root_only
def test_a_read_only_folder(fresh: Any, until: Callable[..., None]) -> None:
    """At the start, and from the middle of a trial on."""
    with mounted(fresh.out, *small_disk("100m")):
        remount = ["mount", "-o", "remount,{}", str(fresh.out)]
        subprocess.run([part.format("ro") for part in remount], check=True)
        early = fresh("run", "trial.yaml")
        subprocess.run([part.format("rw") for part in remount], check=True)
        assert early.code == 69
        assert only_sentence(early) == (
            f"tiltyard: the results folder {fresh.out} cannot be written: Read-only file system; "
            "choose another with --out"
        )

        process = started(fresh, until)
        with covered_read_only(fresh.out):
            done = fresh.end(process)
        assert done.code == 69
        told = only_sentence(done)
        assert "Read-only file system; finished runs are kept: make it writable" in told
        assert told.endswith(GO_ON)
        assert fresh.containers() == []
        ended(fresh)


def test_a_folder_that_is_moved_during_the_trial(fresh: Any, until: Callable[..., None]) -> None:
    """It is not made again in its old place; where it is now, the trial goes on."""
    process = started(fresh, until)
    moved = fresh.folder / "moved"
    fresh.out.rename(moved)
    done = fresh.end(process)
    assert done.code == 69
    told = only_sentence(done)
    assert "put it back or name its new place with --out" in told
    assert not fresh.out.exists()
    assert fresh.containers() == []
    records = len(list(moved.rglob("run.json")))
    again = fresh("run", "trial.yaml", "--out", "moved")
    assert again.code == 0
    assert f"3 runs, {records} of them done already" in again.err
    shutil.rmtree(moved)


def test_a_folder_that_is_removed_during_the_trial(fresh: Any, until: Callable[..., None]) -> None:
    process = started(fresh, until)
    shutil.rmtree(fresh.out)
    done = fresh.end(process)
    assert done.code == 69
    assert "it was moved or removed during the trial" in only_sentence(done)
    assert not fresh.out.exists()
    assert fresh.containers() == []
    ended(fresh)


def test_a_gateway_that_dies(fresh: Any, until: Callable[..., None], call_model: str) -> None:
    """What the attempt had spent is kept, and the call that was under way is known of."""
    slow_call = call_model.replace('"m"', '"slow"')
    agents = [{"name": "four", "kind": "text", "command": f"{call_model}; {slow_call} || true; echo 4"}]
    fresh.write({**SPEC, "agents": agents, "defaults": {**SPEC["defaults"], "reps": 1}})
    answers = [{"text": "4", "usage": {"input": 100, "output": 10}}]
    slow = {"when": {"model": "slow"}, "turns": [answers[0] | {"delay": "10s"}]}
    (fresh.folder / "slow.yaml").write_text(yaml.safe_dump({"conversations": [slow, {"turns": answers}]}))
    script = ("--model-script", "slow.yaml")
    process = fresh.start("run", "trial.yaml", *script)
    staged = ".staging/*/calls.jsonl"
    until(lambda: any(p.stat().st_size for p in fresh.out.glob(staged)), "a settled call")
    until(lambda: any("slow" in p.read_text() for p in fresh.out.glob(f"{staged}.begun")), "one under way")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (gateway,) = [
        pid for pid in children if b"tiltyard_gateway\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    os.kill(int(gateway), signal.SIGKILL)
    done = fresh.end(process)
    assert done.code == 69
    assert "the gateway does not answer; start the trial again to go on" in only_sentence(done)
    assert fresh.containers() == []
    again = fresh("run", "trial.yaml", *script)
    assert again.code == 0
    assert "saved 1 attempt" in again.err
    (attempt,) = fresh.attempts().values()
    assert (attempt["outcome"], attempt["metered"]["usage"]["input"]) == ("infra", 100)
    assert (attempt["metered"]["calls"], attempt["metered"]["incomplete"]) == (2, 1)
    assert attempt["usage"] is None
    assert attempt["metered"]["charged_tokens"] > 110
    assert fresh.leftovers() == []


CLOCK = """
import datetime, sys, time
from tiltyard_cli.main import main
from tiltyard_runner import agent_process, attempt
real, begin, jump = time.time, agent_process.MainProcess.begin, float(sys.argv[1])
class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(time.time(), tz)
def leap(process):
    time.time = lambda: real() + jump
    return begin(process)
agent_process.MainProcess.begin, attempt.datetime = leap, Clock
main(["run", "trial.yaml", "--reps", "1"])
"""
"""The command, with a clock on the wall that jumps when the agent starts."""


@pytest.mark.parametrize("hours", [5, -5])
def test_a_clock_that_jumps_during_a_run(fresh: Any, hours: int) -> None:
    """Nothing times out and nothing lasts hours: only `started_at` is by the clock on the wall."""
    done = subprocess.run(
        [sys.executable, "-c", CLOCK, str(hours * 3600)],
        cwd=fresh.folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (record,) = fresh.records().values()
    assert record["outcome"] == "passed"
    assert 1 <= record["seconds"] < 60
    started = datetime.fromisoformat(record["started_at"])
    assert abs((datetime.now(UTC) - started).total_seconds()) < 600
