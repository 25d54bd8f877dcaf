"""What a run costs the driver of a Ray cluster: runs that do nothing, through the real executor.

In the place of a node's worker stands one without engine and store, which answers at once with a record.
Scheduler, Ray, records and ledger are the real ones.
"""

import resource
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tiltyard_cluster.arm_images import ArmImage
from tiltyard_cluster.executor import OpenRun
from tiltyard_cluster.jobs import JobFactory
from tiltyard_cluster.local_cluster import LocalCluster
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.ray_cluster import ClusterWork, cluster_executor
from tiltyard_cluster.ray_session import RaySession
from tiltyard_cluster.ray_worker import AttemptEnd, Ready
from tiltyard_cluster.resolve import resolve
from tiltyard_cluster.store import FolderStore
from tiltyard_cluster.workplace import WorkSetup
from tiltyard_specs import Outcome, RunRecord, load_trial

SPEC = """
name: overhead
defaults: {{reps: {reps}, timeout: 60}}
arms: [{{name: plain}}, {{name: other}}]
agents: [{{name: nop, kind: text, command: "true"}}]
questions: [{{id: q, prompt: "{prompt}", expect: [x]}}]
"""
PROMPT = "Which classes in src inherit from Parameter? " * 20
SAMPLES = 5


class IdleWorker:
    """A worker that does nothing. See `NodeWorker`.

    Args:
        setup: Its name, and how many slots it is to have.
        args: What else a worker is told.
    """

    def __init__(self, setup: WorkSetup, *args: object) -> None:
        del args
        self._setup = setup

    def prepare(self) -> Ready:
        """Be ready."""
        return Ready(self._setup.parallel or 1, ())

    def attempt(self, slot: int, run: OpenRun, attempt: int, *, last: bool) -> AttemptEnd:
        """Say that the run has passed."""
        del slot, last
        planned = run.planned
        record = RunRecord(
            run_id=planned.run_id, trial="overhead", question=planned.question, arm=planned.arm,
            agent=planned.agent, rep=planned.rep, attempt=attempt, outcome=Outcome.PASSED, seconds=0.0,
            started_at=datetime.now(UTC).isoformat(), node=self._setup.node,
        )  # fmt: skip
        return AttemptEnd("settled", record.to_json())

    def stop(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """Nothing is there to be taken away."""


def measure(runs: int, nodes: int, slots: int) -> Iterator[str]:
    """Lines for a cluster on this machine."""
    with tempfile.TemporaryDirectory() as folder, LocalCluster(nodes) as cluster:
        work, blocks = _work(Path(folder), runs, slots)
        every = [run for block in blocks for run in block]
        with (
            RaySession(cluster.address, cluster.environ) as session,
            cluster_executor(session, work, every, lambda _: False) as executor,
        ):
            for block in blocks:
                executor.submit(block)
            results = executor.results()
            next(results)
            began, cpu, memory = time.monotonic(), time.process_time(), [rss_mb()]
            done = 1
            for done, _ in enumerate(results, 2):
                if done % max(1, len(every) // SAMPLES) == 0:
                    memory.append(rss_mb())
            wall, cpu = time.monotonic() - began, time.process_time() - cpu
    yield f"Ray: {done:,} runs that do nothing, {nodes} nodes of {slots} slots on this machine"
    cost = f"{cpu / done * 1000:.2f} ms of processor time a run, {wall / done * 1000:.2f} ms of wall time"
    yield f"  driver: {cost}"
    yield f"  driver memory: {' '.join(f'{size:.0f}' for size in memory)} MB as the runs go by"


def _work(folder: Path, runs: int, slots: int) -> tuple[ClusterWork, list[list[OpenRun]]]:
    spec = folder / "trial.yaml"
    spec.write_text(SPEC.format(reps=runs // 2, prompt=PROMPT))
    trial, options = load_trial(spec), RunOptions(parallel=slots)
    factory, image = JobFactory(trial, {}, {}, scripted=True), ArmImage("none", {}, {})
    blocks: dict[str, list[OpenRun]] = {}
    for planned in resolve(trial, options).plan.runs:
        blocks.setdefault(planned.block, []).append(OpenRun(planned, factory.job(planned, image), 1))
    store = FolderStore.create(folder / "out")
    return ClusterWork(trial, store, str(folder / "out"), options, "none", worker=IdleWorker), [
        *blocks.values()
    ]


def rss_mb() -> float:
    """Resident memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6
