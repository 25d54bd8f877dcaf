"""A trial's runs on a Ray cluster: which cluster, and what its nodes are told."""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from math import ceil

from tiltyard_cluster.books import Books, budget_units
from tiltyard_cluster.budget import Spent
from tiltyard_cluster.crew import Crew
from tiltyard_cluster.disk import disk_trouble
from tiltyard_cluster.events import Note
from tiltyard_cluster.executor import OpenRun
from tiltyard_cluster.image_archives import ImageArchives
from tiltyard_cluster.image_registry import ImageRegistry, named_registry
from tiltyard_cluster.ledger import Ledger
from tiltyard_cluster.local_cluster import LocalCluster
from tiltyard_cluster.options import RunOptions, cache_folder
from tiltyard_cluster.ray_demand import Demand
from tiltyard_cluster.ray_executor import SLACK, RayExecutor
from tiltyard_cluster.ray_session import RaySession
from tiltyard_cluster.ray_worker import MOST_SLOTS, NodeWorker
from tiltyard_cluster.shared_publisher import DriverPublisher
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_cluster.workplace import WorkSetup
from tiltyard_gateway.scripted import load_script
from tiltyard_images import connect
from tiltyard_specs import Trial
from tiltyard_specs.errors import UsageError
from tiltyard_specs.record import RunRecord

LOCAL_NODES = 2
"""Of `--cluster local`."""
_PROOF = ".proof"
"""Key of the object by which nodes show that they see the results: one driver at a time writes there."""
_LOCAL = re.compile(r"local(?::([1-9][0-9]?))?")
_REMOTE = re.compile(r"(?!local:)[\w.-]+:[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class ClusterName:
    """Which cluster."""

    address: str | None
    """`auto` or `HOST:PORT`; None for nodes on this machine, for the time of the trial."""
    nodes: int = 0
    """Of one on this machine."""


def parse_cluster(text: str) -> ClusterName:
    """Read `local`, `local:N`, `auto` or `HOST:PORT`.

    Raises:
        UsageError: It is none of these.
    """
    if found := _LOCAL.fullmatch(text):
        return ClusterName(None, int(found[1] or LOCAL_NODES))
    if text == "auto" or _REMOTE.fullmatch(text):
        return ClusterName(text)
    raise UsageError(f"{text} names no cluster: give local, local:N, auto or HOST:PORT")


@contextmanager
def open_cluster(name: ClusterName) -> Iterator[RaySession]:
    """Connect to a cluster, made first where it is one on this machine.

    Raises:
        UnavailableError: Ray is not installed, or there is no such cluster.
    """
    with ExitStack() as stack:
        if name.address is None:
            cluster = stack.enter_context(LocalCluster(name.nodes))
            session = RaySession(cluster.address, cluster.environ)
        else:
            session = RaySession(name.address)
        yield stack.enter_context(session)


@dataclass(frozen=True, slots=True)
class ClusterWork:
    """What is to be done on a cluster."""

    trial: Trial
    store: Store
    out: str
    """Address of the results."""
    options: RunOptions
    forwarder: str
    """Id of the forwarder's image."""
    spent: Spent = field(default_factory=Spent)
    """What earlier starts have spent of the budget."""
    slack: float | None = None
    """Seconds that an attempt may take beyond its timeouts; None for the usual."""
    worker: type = NodeWorker
    """The class of the workers."""

    def setup(self, runs: Sequence[OpenRun]) -> WorkSetup:
        """What every node is told."""
        images = {self.forwarder, *(run.job.image for run in runs)}
        script = self.options.script
        return WorkSetup(
            node="",
            trial=self.trial,
            store=self.store,
            staging=hashlib.sha256(f"{self.options.s3_endpoint}\0{self.out}".encode()).hexdigest()[:16],
            forwarder=self.forwarder,
            images=tuple(sorted(images)),
            script=None if script is None else load_script(script),
            parallel=self.options.parallel,
        )


@contextmanager
def cluster_executor(
    session: RaySession, work: ClusterWork, runs: Sequence[OpenRun], enough: Callable[[RunRecord], bool]
) -> Iterator[RayExecutor]:
    """An executor on a cluster, and nothing of it on any node afterwards."""
    budget = work.trial.spec.budget
    ledger = session.actor(Ledger, session.own_node, *budget_units(budget, work.spent))
    books = Books(ledger, budget)
    setup = replace(work.setup(runs), ledger=ledger)
    proof = (_PROOF, secrets.token_bytes(16))
    slack = (SLACK if work.slack is None else work.slack) + _wait_for_turns(work, runs)
    with ExitStack() as stack:
        stack.callback(ledger.kill)
        stack.enter_context(_shown(work.store, proof))
        images = stack.enter_context(_images(work, setup.images))
        yield stack.enter_context(
            RayExecutor(
                lambda post: Crew(
                    session,
                    partial(_setup_of, setup, books),
                    (proof, version("tiltyard")),
                    post,
                    work.worker,
                    images.wanted,
                    Demand(session.request, work.trial.spec.limits.cpus),
                ),
                books=books,
                publisher=DriverPublisher(work.store),
                retries=work.trial.spec.retries,
                enough=enough,
                listen=work.options.listen,
                slack=slack,
            )
        )


def _wait_for_turns(work: ClusterWork, runs: Sequence[OpenRun]) -> float:
    """Seconds that an attempt may wait for its agent's turn, while all before it take their time."""
    defaults = work.trial.spec.defaults
    if defaults.parallel_agents is None:
        return 0.0
    slots = min(work.options.parallel or defaults.parallel or MOST_SLOTS, MOST_SLOTS)
    rounds = ceil(slots / defaults.parallel_agents) - 1
    return rounds * max((run.job.timeout for run in runs), default=0.0)


@contextmanager
def _shown(store: Store, proof: tuple[str, bytes]) -> Iterator[None]:
    """Within the block nodes that see the results find the proof in them."""
    with disk_trouble(store.root) if isinstance(store, FolderStore) else nullcontext():
        store.put(*proof)
    try:
        yield
    finally:
        # A folder that takes nothing more has been told of before.
        with suppress(OSError):
            store.remove(proof[0])


def _images(
    work: ClusterWork, images: tuple[str, ...]
) -> "AbstractContextManager[ImageArchives | ImageRegistry]":
    """What gives nodes the images that they lack."""

    def tell(text: str) -> None:
        work.options.listen(Note(text))

    if (registry := named_registry(work.options.registry, work.options.environ)) is not None:
        return ImageRegistry(connect, registry, images, work.forwarder, tell)
    return ImageArchives(connect, work.store, images, cache_folder(work.options.environ) / "cluster", tell)


def _setup_of(setup: WorkSetup, books: Books, name: str) -> WorkSetup:
    books.join(name)
    return replace(setup, node=name)


def tell_nodes(session: RaySession, options: RunOptions) -> None:
    """Say which nodes there are."""
    names = [node.name for node in session.nodes()]
    count = "1 node" if len(names) == 1 else f"{len(names)} nodes"
    options.listen(Note(f"the cluster has {count}: {', '.join(sorted(names))}"))
