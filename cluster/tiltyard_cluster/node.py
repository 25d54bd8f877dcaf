"""This machine as a place for runs: its engine, images, gateway and slots."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import docker

from tiltyard_cluster.arm_images import ArmImages, FailedArm, tool_versions
from tiltyard_cluster.budget import Spent
from tiltyard_cluster.build_logs import mask_build_logs
from tiltyard_cluster.disk import disk_trouble
from tiltyard_cluster.engine_watch import remove_own
from tiltyard_cluster.estimate_words import runs_text
from tiltyard_cluster.events import Note
from tiltyard_cluster.executor import OpenRun
from tiltyard_cluster.failed_setup import record_failed_setup
from tiltyard_cluster.jobs import JobFactory
from tiltyard_cluster.known_secrets import known_secrets
from tiltyard_cluster.local import LocalExecutor
from tiltyard_cluster.options import RunOptions, cache_folder
from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.providers import trial_upstreams
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.receipt import write_receipt
from tiltyard_cluster.resolve import Resolved
from tiltyard_gateway.client import GatewayProcess
from tiltyard_gateway.config import GatewayConfig, Upstream, scripted_upstreams
from tiltyard_gateway.config import Spent as SpentBefore
from tiltyard_gateway.scripted import ScriptedServer
from tiltyard_images import EngineFacts, Image, ImageBuilder, engine_facts
from tiltyard_runner.job import Place
from tiltyard_runner.owner import Owner
from tiltyard_runner.slot import Slot
from tiltyard_runner.turns import AgentTurns
from tiltyard_specs import Redactor, RunRecord, Trial
from tiltyard_specs.prices import price_version
from tiltyard_specs.trial import AllowHosts


class LocalNode:
    """Prepares this machine for the runs that are left, and runs them.

    Args:
        client: The engine.
        trial: The trial.
        resolved: Its plan and repos.
        staging: Folder for the files of attempts under way.
        publisher: Where attempts go.
        options: How to run this time.
        spent: What earlier starts have spent of the budget.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        trial: Trial,
        resolved: Resolved,
        staging: Path,
        publisher: Publisher,
        options: RunOptions,
        *,
        spent: Spent | None = None,
    ) -> None:
        self._client = client
        self._trial = trial
        self._resolved = resolved
        self._staging = staging
        self._publisher = publisher
        self._options = options
        self._spent = spent or Spent()
        self._facts: EngineFacts = engine_facts(client)
        self._scripted = options.model_script is not None
        self._upstreams = trial_upstreams(trial, options.environ)
        self._jobs = JobFactory(trial, self._upstreams, options.environ, scripted=self._scripted)
        self._secrets = known_secrets(trial, options.environ)
        self._redactor = Redactor(self._secrets)
        self._builder = ImageBuilder(client, cache_folder(options.environ), say=self._note)
        self._open = 0

    def prepare(self, left: Sequence[PlannedRun]) -> list[OpenRun]:
        """Build the images of these runs. Runs of an arm whose setup fails are recorded and not returned.

        Raises:
            UnavailableError: A layer below the arms cannot be built.
        """
        images = ArmImages(
            self._trial,
            self._builder,
            self._resolved.checkouts,
            tool_versions(f"docker {self._facts.version}") | price_version(self._trial.spec.prices),
            self._warn,
        )
        open_runs, began = [], time.time()
        failed: Counter[str] = Counter()
        for run in left:
            image = images.get(run, self._trial.agent(run.agent))
            attempt = self._publisher.next_attempt(run)
            if isinstance(image, FailedArm):
                failed[run.arm] += 1
                variant = self._trial.agent(run.agent).under(self._trial.arm(run.arm))
                with disk_trouble(self._staging.parent):
                    record_failed_setup(
                        self._publisher,
                        self._trial,
                        run,
                        variant,
                        image,
                        attempt,
                        self._options.listen,
                        self._redactor,
                    )
            else:
                open_runs.append(OpenRun(run, self._jobs.job(run, image), attempt))
        for arm, count in failed.items():
            self._note(f"arm {arm}: {runs_text(count)} recorded as setup_failed, none started")
        with disk_trouble(self._staging.parent):
            write_receipt(
                self._publisher.store, self._trial, self._resolved, images, self._facts, self._options
            )
        mask_build_logs(cache_folder(self._options.environ), self._secrets, since=began)
        self._open = len(open_runs)
        return open_runs

    @contextmanager
    def executor(self, enough: Callable[[RunRecord], bool]) -> Iterator[LocalExecutor]:
        """The machine, ready to run: gateway, slots on demand, and nothing of it afterwards.

        Args:
            enough: Whether an attempt's record is the last that is wanted; asked from any thread.
        """
        stop = threading.Event()
        with ExitStack() as stack:
            with disk_trouble(self._staging.parent):
                self._staging.mkdir(exist_ok=True)
            # An attempt that could not be published stays in it, for the next start to save.
            stack.callback(_remove_if_empty, self._staging)
            gateway = stack.enter_context(GatewayProcess(self._gateway_config(stack), wait=False))
            forwarder = self._builder.forwarder()
            owner, setup_lock = Owner.current(), threading.Lock()
            turns = AgentTurns(self._trial.spec.defaults.parallel_agents)
            stack.callback(remove_own, self._client, owner, self._trial.spec.name)
            yield stack.enter_context(
                LocalExecutor(
                    parallel=self._parallel(),
                    open_slot=lambda number: self._slot(number, gateway, forwarder, owner),
                    # Before a run has a folder: what happens to that is not the gateway's trouble.
                    place=lambda slot: Place(
                        self._client,
                        gateway.ready(),
                        slot,
                        owner,
                        socket.gethostname(),
                        stop,
                        setup_lock,
                        turns,
                    ),
                    publisher=self._publisher,
                    staging=self._staging,
                    retries=self._trial.spec.retries,
                    stop=stop,
                    enough=enough,
                    listen=self._options.listen,
                )
            )

    def forwarder(self) -> Image:
        """The forwarder's image, for nodes that have no builder."""
        return self._builder.forwarder()

    def _slot(self, number: int, gateway: GatewayProcess, forwarder: Image, owner: Owner) -> Slot:
        name = str(number)
        return Slot(
            self._client,
            name=name,
            image=forwarder.id,
            socket_folder=gateway.promise_slot(name),
            owner=owner,
            trial=self._trial.spec.name,
            sealed=self._trial.spec.network != "open",
        )

    def _gateway_config(self, stack: ExitStack) -> GatewayConfig:
        upstreams: dict[str, Upstream] = self._upstreams
        if self._options.script is not None:
            server = stack.enter_context(ScriptedServer(self._options.script))
            upstreams = scripted_upstreams(server.base_url)
        spec = self._trial.spec
        return GatewayConfig(
            upstreams=upstreams,
            prices=dict(spec.prices),
            budget=spec.budget,
            spent=SpentBefore(usd=self._spent.charged_usd, tokens=self._spent.charged_tokens),
            allow=spec.network.allow if isinstance(spec.network, AllowHosts) else (),
        )

    def _parallel(self) -> int:
        wanted = self._options.parallel or self._trial.spec.defaults.parallel
        if wanted is None:
            info = self._client.info()
            limits = self._trial.spec.limits
            wanted = int(min(info["NCPU"] / limits.cpus, info["MemTotal"] * 0.8 / limits.memory))
        return max(1, min(wanted, self._open))

    def _note(self, text: str) -> None:
        self._options.listen(Note(self._redactor.text(text)))

    def _warn(self, text: str) -> None:
        self._options.listen(Note(self._redactor.text(text), warning=True))


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
