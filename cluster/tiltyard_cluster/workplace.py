"""A node of a cluster as a place for runs: engine, gateway, slots, staging; nothing of it afterwards."""

import os
import secrets
import tempfile
import threading
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import docker

from tiltyard_cluster.engine_watch import remove_own
from tiltyard_cluster.lease_sync import LeaseSync, LedgerCalls
from tiltyard_cluster.node_guard import NodeGuard
from tiltyard_cluster.node_staging import node_staging
from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.recovery import recover
from tiltyard_cluster.shared_publisher import SharedPublisher
from tiltyard_cluster.store import Store
from tiltyard_cluster.stripped_jobs import KeyFiller
from tiltyard_gateway.client import GatewayProcess
from tiltyard_gateway.config import GatewayConfig, Upstream, scripted_upstreams
from tiltyard_gateway.scripted import Script, ScriptedServer
from tiltyard_images import connect
from tiltyard_runner.job import Place
from tiltyard_runner.owner import Owner
from tiltyard_runner.reaper import reap
from tiltyard_runner.recording import metered_spend
from tiltyard_runner.slot import Slot
from tiltyard_runner.turns import AgentTurns
from tiltyard_specs import Trial
from tiltyard_specs.errors import UsageError
from tiltyard_specs.record import RunRecord
from tiltyard_specs.trial import AllowHosts

_LONGEST_FOLDER = 60
"""Characters: unix sockets allow 107 for a path."""


@dataclass(frozen=True, slots=True)
class WorkSetup:
    """What a node is told. It holds no keys."""

    node: str
    """What records call the node."""
    trial: Trial
    store: Store
    staging: str
    """Name of the folder, in the node's cache, for files of attempts under way: one for each result."""
    forwarder: str
    """Id of the forwarder's image."""
    images: tuple[str, ...]
    """Ids of all images that runs need, the forwarder's among them."""
    script: Script | None = None
    """What answers model calls instead of a provider."""
    ledger: LedgerCalls | None = None
    """Who grants what the node may spend, and knows which providers are overloaded."""
    parallel: int | None = None
    """Runs at once, where it is said."""


@dataclass(slots=True)
class Workplace:
    """Everything is there from `__enter__` to `__exit__`."""

    setup: WorkSetup
    keys: KeyFiller
    stop: threading.Event = field(default_factory=threading.Event)
    recovered: list[RunRecord] = field(default_factory=list)
    """What a killed worker on this machine had left unfinished."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _slots: dict[int, Slot] = field(default_factory=dict)
    _busy: dict[int, str] = field(default_factory=dict)
    _opening: threading.Lock = field(default_factory=threading.Lock)
    _setups: threading.Lock = field(default_factory=threading.Lock)
    _turns: AgentTurns = field(default_factory=AgentTurns)
    _client: docker.DockerClient | None = None
    _gateway: GatewayProcess | None = None
    _staging: Path = field(default=Path())
    _owner: Owner = field(default_factory=Owner.current)

    def __enter__(self) -> Self:
        self._turns = AgentTurns(self.setup.trial.spec.defaults.parallel_agents)
        with ExitStack() as stack:
            self._client = client = stack.enter_context(closing(connect()))
            reap(client)
            self._staging = stack.enter_context(node_staging(self.setup.staging, self._recover))
            # The guard first: it outlives what comes after it.
            folder = _gateway_folder()
            stack.enter_context(NodeGuard(folder))
            self._gateway = stack.enter_context(GatewayProcess(self._gateway_config(stack, folder)))
            if self.setup.ledger is not None:
                stack.enter_context(self._sync(self.setup.ledger, self._gateway))
            stack.callback(remove_own, client, self._owner, self.setup.trial.spec.name)
            stack.callback(self._close_slots)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def client(self) -> docker.DockerClient:
        """The node's engine."""
        assert self._client is not None  # noqa: S101  # set by __enter__
        return self._client

    @property
    def gateway(self) -> GatewayProcess:
        """The node's meter."""
        assert self._gateway is not None  # noqa: S101  # set by __enter__
        return self._gateway

    @property
    def staging(self) -> Path:
        """Where attempts under way keep their files."""
        return self._staging

    def place(self, number: int) -> Place:
        """A slot, opened when it is first asked for."""
        with self._opening:
            if number not in self._slots:
                self._slots[number] = self._slot(str(number)).__enter__()
        return Place(
            self.client,
            self.gateway,
            self._slots[number],
            self._owner,
            self.setup.node,
            self.stop,
            self._setups,
            self._turns,
        )

    def under_way(self, number: int, attempt: str | None) -> None:
        """Which attempt a slot is busy with, by run id and attempt; None for none."""
        if attempt is None:
            self._busy.pop(number, None)
        else:
            self._busy[number] = attempt

    def _sync(self, ledger: LedgerCalls, gateway: GatewayProcess) -> LeaseSync:
        leased = self.setup.trial.spec.budget is not None
        return LeaseSync(self.setup.node, ledger, gateway, leased, self._spends)

    def _spends(self) -> dict[str, str]:
        """What each attempt under way has used so far."""
        found = {}
        for number, attempt in list(self._busy.items()):
            # A slot that has just lost or not yet got its run has nothing to tell.
            with suppress(UsageError):
                if (spend := metered_spend(self.gateway.meter(str(number)))) is not None:
                    found[attempt] = spend.model_dump_json()
        return found

    def _slot(self, name: str) -> Slot:
        return Slot(
            self.client,
            name=name,
            image=self.setup.forwarder,
            socket_folder=self.gateway.open_slot(name),
            owner=self._owner,
            trial=self.setup.trial.spec.name,
            sealed=self.setup.trial.spec.network != "open",
        )

    def _close_slots(self) -> None:
        for slot in self._slots.values():
            slot.__exit__(None, None, None)

    def _gateway_config(self, stack: ExitStack, folder: Path) -> GatewayConfig:
        upstreams: dict[str, Upstream] = self.keys.upstreams()
        if self.setup.script is not None:
            server = stack.enter_context(ScriptedServer(self.setup.script))
            upstreams = scripted_upstreams(server.base_url)
        spec = self.setup.trial.spec
        return GatewayConfig(
            folder=folder,
            upstreams=upstreams,
            prices=dict(spec.prices),
            budget=spec.budget,
            leased=self.setup.ledger is not None,
            allow=spec.network.allow if isinstance(spec.network, AllowHosts) else (),
        )

    def _recover(self, staging: Path) -> None:
        publisher = _Noting(self.setup.store)
        recover(staging, self.setup.trial.spec.name, publisher, self.keys.secrets())
        self.recovered += publisher.noted


class _Noting(SharedPublisher):
    """Remembers what it has published."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.noted: list[RunRecord] = []

    def earlier(self, run: PlannedRun, record: RunRecord, folder: Path) -> None:
        """See `SharedPublisher`; what settles a run passes here as well."""
        super().earlier(run, record, folder)
        self.noted.append(record)


def _gateway_folder() -> Path:
    """Known before the gateway makes it, so that the guard can remove it."""
    parent = Path(tempfile.gettempdir())
    if len(str(parent)) > _LONGEST_FOLDER:
        parent = Path("/tmp")  # noqa: S108  # the gateway makes a private folder in it
    return parent / f"tiltyard-gw-{os.getpid()}-{secrets.token_hex(4)}"
