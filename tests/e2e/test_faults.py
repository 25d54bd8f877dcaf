"""SIGKILL, SIGTERM and SIGINT at every write point of a run's life, one after the other, in one trial each.

After each: what was finished stands as it was, no half-written record is believed, and a stop that could be
heard leaves nothing behind. In the end the result is that of a trial that nobody disturbed.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

POINTS: dict[str, tuple[str, int]] = {
    "the results folder": (r"os.mkdir OUT$", 1),
    "the lock": (r"open OUT/\.lock$", 1),
    "the receipt, half written": (r"open OUT/\.tmp-", 1),
    "the receipt": (r"os.rename OUT/trial\.json$", 1),
    "the staging folder": (r"os.mkdir OUT/\.staging$", 1),
    "the gateway's folder": (r"os.mkdir .*/tiltyard-gw-[\w-]+$", 1),
    "the gateway": (r"spawn .* tiltyard_gateway$", 1),
    "the slot's socket": (r"send POST /slots/0/open ", 1),
    "the forwarder, made": (r"send POST \S+/containers/create ", 1),
    "the forwarder, started": (r"send POST \S+/start ", 1),
    "an attempt's folder": (r"os.mkdir STAGED$", 1),
    "whose it is": (r"open STAGED/begun\.json$", 1),
    "the prompt": (r"open STAGED/prompt\.txt$", 1),
    "the meter, opened": (r"send POST /slots/0/begin ", 1),
    "the run's container, made": (r"send POST \S+/containers/create ", 2),
    "the agent's output": (r"open STAGED/raw\.out$", 1),
    "the agent, started": (r"send POST \S+/start ", 2),
    "the meter, closed": (r"send POST /slots/0/end ", 1),
    "the grading container, made": (r"send POST \S+/containers/create ", 3),
    "the patch": (r"open STAGED/patch\.diff$", 1),
    "the output of verify": (r"open STAGED/verify\.log$", 1),
    "the grading container, removed": (r"send DELETE ", 1),
    "the run's container, removed": (r"send DELETE ", 2),
    "the record, half written down": (r"open STAGED/\.run\.json$", 1),
    "the record, written down": (r"os.rename STAGED/run\.json$", 1),
    "the run's folder": (r"os.mkdir RUN$", 1),
    "the first file beside the record": (r"os.rename RUN/prompt\.txt$", 1),
    "the last file beside the record": (r"os.rename RUN/verify\.log$", 1),
    "the record, half written": (r"open RUN/\.tmp-", 1),
    "the record": (r"os.link RUN/run\.json$", 1),
    "the record's temporary name, removed": (r"os.remove RUN/\.tmp-", 1),
    "the attempt's folder, removed": (r"shutil.rmtree STAGED$", 1),
    "the forwarder, removed": (r"send DELETE ", 3),
    "the gateway's folder, removed": (r"shutil.rmtree .*/tiltyard-gw-[\w-]+$", 1),
    "the staging folder, removed": (r"os.rmdir OUT/\.staging$", 1),
}
"""Every write of a run, in its order: of the results folder, and of what the engine and the gateway see."""
HALF = frozenset(name for name in POINTS if "half" in name)
"""Between these and the next point only a process that ends at once leaves anything else."""
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}


def points_of(name: str) -> list[str]:
    """Where a signal is sent; an interrupt takes the way of a termination, so that a third is enough."""
    if name == "SIGKILL":
        return list(POINTS)
    asked = [point for point in POINTS if point not in HALF]
    return asked if name == "SIGTERM" else asked[::3]


SPEC: dict[str, Any] = {
    "defaults": {"reps": len(POINTS) + 1, "timeout": 60, "parallel": 1},
    "limits": {"memory": "128m"},
    "arms": [{"name": "plain"}],
    "agents": [{"name": "four", "kind": "text", "command": "echo 4 | tee sum", "edits": True}],
    "questions": [{"id": "sum", "prompt": "2+2?", "verify": "grep 4 sum"}],
}
VARYING = {"trial", "run_id", "rep", "position", "block", "attempt", "seconds", "started_at"}
FILES = {"run.json", "prompt.txt", "raw.out", "raw.err", "calls.jsonl", "patch.diff", "verify.log"}
Steps = dict[str, "Step"]


@dataclass(frozen=True)
class Step:
    """What a start that was signalled at one point has left."""

    code: int
    met: bool
    err: str
    asked: int
    """Runs that it was asked to have at its end."""
    before: dict[str, tuple[int, int]]
    after: dict[str, tuple[int, int]]
    """Inode and time of each record, before and after it."""
    staged: int
    left: list[str]


@dataclass
class Chain:
    """One trial, started once for each point and signalled there; asked each time for one run more."""

    world: Any
    driver: "subprocess.Popen[str]"
    steps: Steps = field(default_factory=dict)

    def start(self, reps: int, number: int | None = None, at: str = "", nth: int = 1) -> dict[str, Any]:
        out, files = re.escape(str(self.world.out)), self.world.folder
        names = {"OUT": out, "STAGED": rf"{out}/\.staging/\w+\.\d+", "RUN": rf"{out}/runs/sum/plain/four/\d+"}
        order = {
            "args": ["run", "trial.yaml", "--reps", str(reps)],
            "out": str(files / "out.txt"),
            "err": str(files / "err.txt"),
            "signal": number,
            "at": re.sub("OUT|STAGED|RUN", lambda found: names[found[0]], at),
            "nth": nth,
        }
        assert self.driver.stdin is not None
        assert self.driver.stdout is not None
        self.driver.stdin.write(json.dumps(order) + "\n")
        self.driver.stdin.flush()
        answer: dict[str, Any] = json.loads(self.driver.stdout.readline())
        return answer

    def go(self, number: int, points: list[str]) -> None:
        for name in points:
            at, nth = POINTS[name]
            before = self.world.marks()
            answer = self.start(len(before) + 1, number, at, nth)
            err = (self.world.folder / "err.txt").read_text()
            after = self.world.marks()
            staged = self.world.under_way()
            left = [] if number == signal.SIGKILL else self.world.leftovers()
            self.steps[name] = Step(
                answer["code"], answer["met"], err, len(before) + 1, before, after, staged, left
            )
        self.last = self.start(len(self.world.marks()) + 1)


@pytest.fixture(scope="module")
def chains(
    world: Any, until: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Chain]]:
    """The three trials, side by side."""
    made = {}
    for name in SIGNALS:
        temporary = Path(tempfile.mkdtemp(prefix="ty-", dir="/tmp"))
        folder = tmp_path_factory.mktemp(name)
        one = type(world)(folder, temporary, world.engine, f"{world.name}-{name}".lower())
        one.write(SPEC)
        driver = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("dying_driver.py")), str(folder)],
            env=os.environ | {"TMPDIR": str(temporary)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        made[name] = Chain(one, driver)
    with ThreadPoolExecutor(len(made)) as pool:
        for future in [pool.submit(chain.go, SIGNALS[name], points_of(name)) for name, chain in made.items()]:
            future.result()
    yield made
    for chain in made.values():
        chain.driver.communicate()
        shutil.rmtree(chain.world.temporary, ignore_errors=True)


@pytest.fixture(scope="module")
def undisturbed(world: Any) -> dict[str, Any]:
    """The record of a run that nobody disturbed."""
    world.write(SPEC)
    done = world("run", "trial.yaml", "--reps", "1")
    assert done.code == 0, done.err
    (record,) = world.records().values()
    return _lasting(record)


@pytest.mark.parametrize(
    ("name", "point"),
    [(name, point) for name in SIGNALS for point in points_of(name)],
)
def test_a_signal_at_every_write(chains: dict[str, Chain], name: str, point: str) -> None:
    step = chains[name].steps[point]

    assert step.met, f"no start comes to this point any more: {POINTS[point]}"
    assert "Traceback" not in step.err
    assert "internal error" not in step.err
    assert step.after.items() >= step.before.items(), "a record was written again"
    if name == "SIGKILL":
        assert step.code == -signal.SIGKILL
        assert step.staged <= 1
    else:
        assert step.code == (0 if len(step.after) == step.asked else 130), step.err
        assert step.left == []


@pytest.mark.parametrize("name", SIGNALS)
def test_what_was_disturbed_everywhere_equals_what_was_not(
    chains: dict[str, Chain], undisturbed: dict[str, Any], name: str
) -> None:
    chain = chains[name]
    records = chain.world.records()

    assert chain.last["code"] == 0
    assert len(records) > 3
    assert set(records) == {f"sum/plain/four/{rep}" for rep in range(1, len(records) + 1)}
    assert {record["run_id"] for record in records.values()} == set(chain.world.receipt()["order"])
    for record in records.values():
        assert _lasting(record) == undisturbed
    for key in records:
        folder = chain.world.out / "runs" / key
        assert {path.name for path in folder.iterdir()} - {"attempts"} == FILES
        assert (folder / "raw.out").read_text() == "4\n"


@pytest.mark.parametrize("name", SIGNALS)
def test_nothing_is_left_in_the_end(chains: dict[str, Chain], until: Callable[..., None], name: str) -> None:
    world = chains[name].world

    until(lambda: world.leftovers() == [], f"nothing left: {world.leftovers()}", 30)


def _lasting(record: dict[str, Any]) -> dict[str, Any]:
    verify = {name: value for name, value in record["verify"].items() if name != "seconds"}
    return {name: value for name, value in record.items() if name not in VARYING} | {"verify": verify}
