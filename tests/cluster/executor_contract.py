"""What every executor keeps to, tried on real containers."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from tiltyard_cluster.executor import Executor, Finished, OpenRun
from tiltyard_cluster.node import LocalNode
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.resolve import resolve
from tiltyard_cluster.store import FolderStore
from tiltyard_specs import Outcome, RunRecord, load_trial

SPEC: dict[str, Any] = {
    "defaults": {"reps": 2, "timeout": 60},
    "retries": 1,
    "limits": {"memory": "128m", "cpus": 0.5},
    "arms": [{"name": "plain"}, {"name": "other"}],
    "agents": [{"name": "four", "kind": "text", "command": "echo 4"}],
    "questions": [{"id": "sum", "prompt": "2+2?", "expect": ["4"]}],
}
Start = Callable[["Prepared", Callable[[RunRecord], bool]], AbstractContextManager[Executor]]


class Prepared:
    """A trial whose images are there, and where its results go."""

    def __init__(
        self, folder: Path, engine: docker.DockerClient, *, script: Any = None, **changes: Any
    ) -> None:
        self.name = f"contract-{folder.name[-20:]}-{id(self):x}"[:60]
        spec = {"name": self.name, **SPEC, **changes}
        path = folder / "trial.yaml"
        path.write_text(yaml.safe_dump(spec))
        self.engine = engine
        self.events: list[object] = []
        self.trial = load_trial(path)
        if script is not None:
            (folder / "script.yaml").write_text(yaml.safe_dump(script))
        answers = None if script is None else folder / "script.yaml"
        self.options = RunOptions(listen=self.events.append, model_script=answers)
        self.out = folder / "out"
        self.store = FolderStore.create(self.out)
        self.publisher = Publisher(self.store)
        self.resolved = resolve(self.trial, self.options)
        self.node = LocalNode(
            engine, self.trial, self.resolved, self.out / ".staging", self.publisher, self.options
        )

    def runs(self) -> list[OpenRun]:
        """The runs that are left."""
        left = [run for run in self.resolved.plan.runs if self.publisher.done(run) is None]
        return self.node.prepare(left)

    def blocks(self) -> list[list[OpenRun]]:
        blocks: dict[str, list[OpenRun]] = {}
        for run in self.runs():
            blocks.setdefault(run.planned.block, []).append(run)
        return list(blocks.values())

    def files(self) -> set[str]:
        """Names of all objects, below runs/."""
        return {key.removeprefix("runs/") for key in self.store.list("runs/")}

    def containers(self) -> list[str]:
        found = self.engine.api.containers(all=True, filters={"label": f"tiltyard.trial={self.name}"})
        return [each["Id"] for each in found]

    def under_way(self) -> int:
        """Containers in which an agent runs."""
        labels = [f"tiltyard.trial={self.name}", "tiltyard.role=run"]
        return len(self.engine.api.containers(filters={"label": labels}))


def never(record: RunRecord) -> bool:
    """No record is enough."""
    return False


def finish(executor: Executor, blocks: Sequence[Sequence[OpenRun]]) -> list[Finished]:
    for block in blocks:
        executor.submit(block)
    return list(executor.results())


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.1)


class ExecutorContract:
    """Subclasses give a fixture `start`: an executor for a prepared trial."""

    @pytest.fixture
    def prepared(self, tmp_path: Path, engine: docker.DockerClient) -> Callable[..., Prepared]:
        return lambda **changes: Prepared(tmp_path, engine, **changes)

    def test_every_run_is_settled_once(self, prepared: Callable[..., Prepared], start: Start) -> None:
        """Each has its record with its files beside it, and nothing of the executor is left."""
        trial = prepared()
        with start(trial, never) as executor:
            done = finish(executor, trial.blocks())

        assert Counter(each.planned.run_id for each in done) == {
            run.run_id: 1 for run in trial.resolved.plan.runs
        }
        assert all(each.final and each.record.outcome is Outcome.PASSED for each in done)
        folders = {f"sum/{arm}/four/{rep}" for arm in ("plain", "other") for rep in (1, 2)}
        assert {f"{folder}/{name}" for folder in folders for name in ("run.json", "raw.out")} <= trial.files()
        assert not any("attempts" in name for name in trial.files())
        assert all(trial.publisher.done(each.planned) == each.record for each in done)
        assert trial.containers() == []
        assert {path.name for path in trial.out.iterdir()} <= {"runs", "trial.json"}

    def test_infrastructure_is_tried_again_and_then_recorded(
        self, prepared: Callable[..., Prepared], start: Start
    ) -> None:
        """Both attempts stay: the first beside the run, the last as its record. A wrong answer is final."""
        agents = [{"name": "four", "kind": "text", "command": "echo 5"}]
        trial = prepared(agents=agents, defaults={"reps": 1, "timeout": 60})
        (block,) = trial.blocks()
        no_image = OpenRun(block[0].planned, _without_image(block[0]), block[0].attempt)
        with start(trial, never) as executor:
            done = finish(executor, [[no_image, block[1]]])

        assert [
            (each.planned.arm, each.record.attempt, each.record.outcome, each.final) for each in done
        ] == [
            (no_image.planned.arm, 1, Outcome.INFRA, False),
            (no_image.planned.arm, 2, Outcome.INFRA, True),
            (block[1].planned.arm, 1, Outcome.FAILED, True),
        ]
        assert f"sum/{no_image.planned.arm}/four/1/attempts/1/attempt.json" in trial.files()

    def test_enough_begins_nothing_further(self, prepared: Callable[..., Prepared], start: Start) -> None:
        """The runs that were under way end; the others stay open."""
        trial = prepared(defaults={"reps": 8, "timeout": 60})
        with start(trial, lambda _: True) as executor:
            done = finish(executor, trial.blocks())

        assert 1 <= len(done) < 16
        assert len(trial.runs()) == 16 - len(done)

    def test_a_cancel_now_ends_what_is_under_way(
        self, prepared: Callable[..., Prepared], start: Start
    ) -> None:
        """Each becomes a cancelled attempt, and its run stays open."""
        agents = [{"name": "four", "kind": "text", "command": "sleep 50"}]
        trial = prepared(agents=agents)
        with start(trial, never) as executor:
            blocks = trial.blocks()
            timer = threading.Thread(
                target=lambda: (
                    wait_for(lambda: trial.under_way() > 0, "a run under way"),
                    executor.cancel(now=True),
                )
            )
            timer.start()
            began = time.monotonic()
            done = finish(executor, blocks)
            timer.join()

        assert time.monotonic() - began < 45
        assert done
        assert {(each.record.outcome, each.final) for each in done} == {(Outcome.CANCELLED, False)}
        assert len(trial.runs()) == 4
        assert trial.containers() == []


def _without_image(run: OpenRun) -> Any:
    from dataclasses import replace  # noqa: PLC0415

    return replace(run.job, image="sha256:" + "0" * 64)
