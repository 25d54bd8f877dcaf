"""What a run costs beside the engine: no-op runs and a bare loop of its API, alternating in one process.

    .venv/bin/python benchmarks/run_overhead.py [--runs 100] [--rounds 2] [--parallel 1,4,8]

Both sides create, start, await and remove a container of the same image, with the same limits, in the same
kind of network. Ours is timed from the start of its gateway to its end, networks made and removed, too.
Prints for each parallelism a line: `parallel=N ratio=R client_cpu_ms=C rss_mb=M ratio_networks_inside=I ...`.
ratio is our rate over that of a loop whose networks are there before its time begins and go after its end;
ratio_networks_inside is over that of a loop each of whose threads makes and removes its network within the
time. client_cpu_ms is the CPU time a run of this process and of the gateway, rss_mb the largest resident
memory of the two together, ours_ms, bare_ms and bare_networks_inside_ms are the wall time a run of each side.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import docker

from tiltyard_cluster.node import LocalNode
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.resolve import resolve
from tiltyard_cluster.store import FolderStore
from tiltyard_gateway import GatewayConfig, GatewayProcess
from tiltyard_images import connect
from tiltyard_runner.container import Container, ContainerPlan
from tiltyard_runner.owner import Owner
from tiltyard_runner.slot import Slot
from tiltyard_specs import load_trial, select

SPEC = """
name: overhead
defaults: {{reps: {runs}, parallel: {parallel}, timeout: 60}}
limits: {{cpus: 1, memory: 256m, pids: 64}}
arms: [{{name: plain}}]
agents: [{{name: nop}}]
questions: [{{id: nothing, prompt: Do nothing., expect: [never]}}]
"""


def main() -> None:
    """Measure each parallelism and print its line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs a round and side")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of each side; the best counts")
    parser.add_argument("--parallel", default="1,4,8", help="comma-separated")
    given = parser.parse_args()
    client = connect()
    for parallel in (int(text) for text in given.parallel.split(",")):
        print(measure(client, given.runs, given.rounds, parallel), flush=True)


def measure(client: docker.DockerClient, runs: int, rounds: int, parallel: int) -> str:
    """One line for one parallelism."""
    ours: list[float] = []
    bare: list[float] = []
    inside: list[float] = []
    cpu: list[float] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            trial_round = TrialRound(client, Path(folder), runs, parallel)
            before = cpu_seconds()
            ours.append(timed(trial_round.run))
            cpu.append(cpu_seconds() - before)
            loop = BareLoop(client, trial_round, runs, parallel)
            bare.append(loop.seconds())
            inside.append(loop.seconds_with_networks())
    return (
        f"parallel={parallel} ratio={min(bare) / min(ours):.2f}"
        f" client_cpu_ms={min(cpu) / runs * 1000:.0f} rss_mb={rss_mb():.0f}"
        f" ratio_networks_inside={min(inside) / min(ours):.2f} ours_ms={min(ours) / runs * 1000:.0f}"
        f" bare_ms={min(bare) / runs * 1000:.0f} bare_networks_inside_ms={min(inside) / runs * 1000:.0f}"
    )


class TrialRound:
    """A whole trial of no-op runs, its images ready."""

    def __init__(self, client: docker.DockerClient, folder: Path, runs: int, parallel: int) -> None:
        spec = folder / "trial.yaml"
        spec.write_text(SPEC.format(runs=runs, parallel=parallel))
        self._trial = select(load_trial(spec))
        options = RunOptions()
        resolved = resolve(self._trial, options)
        publisher = Publisher(FolderStore.create(folder / "out"))
        self._node = LocalNode(client, self._trial, resolved, folder / "out/.staging", publisher, options)
        self._open_runs = self._node.prepare(resolved.plan.runs)

    @property
    def job(self):  # noqa: ANN201
        """One of the runs, for its image and limits."""
        return self._open_runs[0].job

    @property
    def forwarder(self) -> str:
        """Id of the forwarder's image."""
        return self._node._builder.forwarder().id  # noqa: SLF001

    def run(self) -> None:
        """All runs, from the start of the gateway to its end."""
        with self._node.executor(lambda _: False) as executor:
            for run in self._open_runs:
                executor.submit([run])
            ended = sum(1 for _ in executor.results())
        if ended != len(self._open_runs):
            raise SystemExit(f"{ended} of {len(self._open_runs)} runs ended")


class BareLoop:
    """The loop of the engine's API, on as many threads as ours has slots."""

    def __init__(self, client: docker.DockerClient, like: TrialRound, runs: int, parallel: int) -> None:
        self._client = client
        self._like = like
        self._runs = runs
        self._parallel = parallel
        self._owner = Owner.current()

    def seconds(self) -> float:
        """Of the runs alone: their networks are there before and go afterwards."""
        with self._slots() as slots, ExitStack() as stack:
            for slot in slots:
                stack.enter_context(slot)
            left = iter(range(self._runs))
            return timed(lambda: self._in_threads(slots, lambda slot: self._share(slot, left)))

    def seconds_with_networks(self) -> float:
        """Of the runs and of their networks: each thread makes its own, and removes it."""
        with self._slots() as slots:
            left = iter(range(self._runs))

            def work(slot: Slot) -> None:
                with slot:
                    self._share(slot, left)

            return timed(lambda: self._in_threads(slots, work))

    def _share(self, slot: Slot, left: Iterator[int]) -> None:
        plan = ContainerPlan(
            image=self._like.job.image, argv=("true",), labels=self._owner.labels(trial="bare", role="run"),
            bounds=self._like.job.bounds, network=slot.network(),
        )  # fmt: skip
        for _ in left:
            bare_run(self._client, plan)

    def _in_threads(self, slots: list[Slot], work: Callable[[Slot], None]) -> None:
        with ThreadPoolExecutor(self._parallel) as pool:
            list(pool.map(work, slots))

    @contextmanager
    def _slots(self) -> Iterator[list[Slot]]:
        """Not yet opened."""
        with GatewayProcess(GatewayConfig()) as gateway:
            yield [
                Slot(
                    self._client,
                    name=f"bare-{number}",
                    image=self._like.forwarder,
                    socket_folder=gateway.open_slot(f"bare-{number}"),
                    owner=self._owner,
                    trial="bare",
                    sealed=True,
                )
                for number in range(self._parallel)
            ]


def bare_run(client: docker.DockerClient, plan: ContainerPlan) -> None:
    """Create, start, wait, remove: the least that any tool does."""
    container = Container(client, plan)
    created = client.api.create_container(
        image=plan.image, entrypoint=[plan.argv[0]], user="1000:1000", labels=dict(plan.labels),
        host_config=container._host_config(),  # noqa: SLF001  # the same limits as ours
    )  # fmt: skip
    client.api.start(created["Id"])
    client.api.wait(created["Id"])
    client.api.remove_container(created["Id"], force=True, v=True)


def timed(work: Callable[[], None]) -> float:
    """Seconds that `work` takes."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


def cpu_seconds() -> float:
    """CPU time of this process and of its ended children, such as the gateway."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def rss_mb() -> float:
    """Largest resident memory of this process and of its largest child."""
    return (
        sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        / 1024
    )


if __name__ == "__main__":
    main()
