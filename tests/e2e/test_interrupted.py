"""SIGINT once and twice, SIGTERM, and two starts on one folder."""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

GO_ON = "stopped by the user. To go on: tiltyard run trial.yaml"
EARLY = (
    "nothing was spent; finished runs and images are kept. "
    "To go on: tiltyard run trial.yaml --out early-results"
)
SPEC: dict[str, Any] = {
    "defaults": {"reps": 20, "timeout": 60, "parallel": 2},
    "limits": {"memory": "128m"},
    "arms": [{"name": "plain"}, {"name": "docs"}],
    "agents": [{"name": "slow", "kind": "text", "command": "sleep 2; echo 4"}],
    "questions": [{"id": "sum", "prompt": "2+2?", "expect": ["4"]}],
}


@pytest.fixture(scope="module")
def trial(world: Any) -> Any:
    world.write(SPEC)
    return world


@pytest.fixture
def under_way(trial: Any, until: Callable[..., None]) -> Any:
    """The trial, started, with two agents at work."""
    before = len(trial.containers())
    assert before == 0
    process = trial.start("run", "trial.yaml")
    until(lambda: trial.under_way() == 2 and _agents_run(trial), "two runs under way")
    return process


def _agents_run(world: Any) -> bool:
    filters = {"label": [f"tiltyard.trial={world.name}", "tiltyard.role=run"], "status": "running"}
    return len(world.engine.api.containers(filters=filters)) == 2


def test_one_interrupt_finishes_the_runs_under_way(trial: Any, under_way: Any) -> None:
    under_way.send_signal(signal.SIGINT)
    done = trial.end(under_way)

    assert done.code == 130
    assert "stopping: the runs under way are finished first; interrupt again to stop now" in done.err
    assert f"2 of 40 runs recorded in trial-results: 2 passed\n{GO_ON}" in done.out
    assert trial.attempts() == {}
    assert trial.leftovers() == []
    report = trial("report", "trial-results")
    assert report.code == 0
    assert "PARTIAL" in report.out.splitlines()[0]


def test_two_interrupts_stop_now(trial: Any, under_way: Any) -> None:
    """The runs under way are kept as cancelled attempts, and stay to be done."""
    records = trial.records()
    under_way.send_signal(signal.SIGINT)
    time.sleep(0.2)
    under_way.send_signal(signal.SIGINT)
    began = time.monotonic()
    done = trial.end(under_way)

    assert done.code == 130
    assert "stopping now" in done.err
    assert GO_ON in done.out
    assert "cancelled" in done.err
    assert "; tried again" not in done.err
    assert time.monotonic() - began < 10
    assert trial.records() == records
    assert [attempt["outcome"] for attempt in trial.attempts().values()] == ["cancelled", "cancelled"]
    assert {attempt["reason"] for attempt in trial.attempts().values()} == {"stopped by the user"}
    assert trial.leftovers() == []


def test_a_termination_stops_now(trial: Any, under_way: Any) -> None:
    """As a CI system or a shutdown does it; a further attempt gets a number of its own."""
    records = trial.records()
    under_way.terminate()
    done = trial.end(under_way)

    assert done.code == 130
    assert "stopping now" in done.err
    assert trial.records() == records
    assert sorted(attempt["attempt"] for attempt in trial.attempts().values()) == [1, 1, 2, 2]
    assert trial.leftovers() == []


def test_a_second_start_on_the_folder_is_refused(trial: Any, under_way: Any) -> None:
    second = trial("run", "trial.yaml")
    under_way.terminate()
    first = trial.end(under_way)

    assert second.code == 69
    assert second.err == (
        f"tiltyard: another tiltyard is running a trial in {trial.out}; wait for it, "
        "or choose another folder with --out\n"
    )
    assert first.code == 130
    assert trial.leftovers() == []


def test_an_interrupt_before_the_first_run(trial: Any, until: Callable[..., None]) -> None:
    """While images are built, or the folder is looked through."""
    process = trial.start("run", "trial.yaml", "--out", "early-results")
    until((trial.folder / "early-results" / ".lock").exists, "the start")
    process.send_signal(signal.SIGINT)
    done = trial.end(process)

    assert done.code == 130
    assert done.err.splitlines()[-1] in {
        f"tiltyard: interrupted before a run began: {EARLY}",
        # It came only after the first run had begun.
        "stopping: the runs under way are finished first; interrupt again to stop now",
    }
    assert trial.containers() == []
