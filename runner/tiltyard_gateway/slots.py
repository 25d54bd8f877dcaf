"""One unix socket per slot: which run calls is known by its socket, whatever key it sends."""

import asyncio
import re
import shutil
from pathlib import Path

from aiohttp import web

from tiltyard_gateway.amounts import Cap
from tiltyard_gateway.config import GatewayConfig, LeaseOrder, LeaseState, RunMeter, RunTicket, Spent
from tiltyard_gateway.holds import Holds
from tiltyard_gateway.leased import obey
from tiltyard_gateway.limits import BACKLOG
from tiltyard_gateway.relay import Relay
from tiltyard_gateway.runs import Run
from tiltyard_specs.errors import UsageError
from tiltyard_specs.trial import Budget

_SLOT = re.compile(r"[A-Za-z0-9][\w.-]{0,31}")
_SOCKET_NAME = "gw.sock"
_MAX_SOCKET_PATH = 100


class Slot:
    """A socket, and the run that owns it now."""

    def __init__(self, folder: Path, relay: Relay) -> None:
        self.folder = folder
        self.run: Run | None = None
        self._relay = relay
        self._runner: web.ServerRunner | None = None

    async def open(self) -> None:
        """Listen. The folder above is private; within it the container's user must reach the socket."""
        self.folder.mkdir(mode=0o755, exist_ok=True)
        self.folder.chmod(0o755)
        server = web.Server(
            self._handle,
            handler_cancellation=True,
            access_log=None,
            lingering_time=2.0,
            read_bufsize=1048576,
            auto_decompress=False,  # aiohttp would go on with it while it discards the rest of a refused body
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        socket = self.folder / _SOCKET_NAME
        await web.UnixSite(self._runner, socket, backlog=BACKLOG).start()
        socket.chmod(0o666)

    async def close(self) -> None:
        """End the run if there is one, stop listening, and remove the socket."""
        if self.run:
            await self.end()
        if self._runner:
            await self._runner.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def end(self) -> RunMeter:
        """Take the run off the slot and close it; later requests are refused and recorded nowhere."""
        run = self.owner()
        self.run = None
        return await run.close()

    def owner(self) -> Run:
        """The run that owns the slot."""
        if self.run is None:
            raise UsageError(f"slot {self.folder.name} has no run: begin one first")
        return self.run

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        return await self._relay.handle(request, self.run)


class Slots:
    """All slots of one gateway."""

    def __init__(self, folder: Path, config: GatewayConfig, relay: Relay) -> None:
        self._folder = folder
        self._budget = relay.budget
        self._holds = relay.holds
        self._config = config
        self._relay = relay
        self._slots: dict[str, Slot] = {}

    async def open(self, name: str) -> Path:
        """Open a slot and return the folder to mount."""
        folder = self._folder / name
        if not _SLOT.fullmatch(name):
            raise UsageError(f"the slot name {name!r} may hold letters, digits, '.', '_' and '-' only")
        if len(str(folder / _SOCKET_NAME)) >= _MAX_SOCKET_PATH:
            raise UsageError(f"the socket path {folder / _SOCKET_NAME} is too long: choose a shorter folder")
        if name in self._slots:
            raise UsageError(f"slot {name} is open already: close it first")
        slot = self._slots[name] = Slot(folder, self._relay)
        await slot.open()
        return folder

    def begin(self, name: str, ticket: RunTicket) -> None:
        """Give a slot to a run."""
        slot = self.get(name)
        if slot.run is not None:
            raise UsageError(f"slot {name} is owned by run {slot.run.ticket.run_id}: end it first")
        slot.run = Run(ticket, self._config.upstreams, self._config.prices, self._budget)

    def spent(self) -> Spent:
        """What all runs have used so far."""
        trial = self._budget.trial
        return Spent(
            usd=trial.spent.usd,
            tokens=trial.spent.tokens,
            reserved_usd=trial.reserved.usd,
            reserved_tokens=trial.reserved.tokens,
            refused=self._budget.refused,
        )

    @property
    def holds(self) -> Holds:
        """Which providers are held back."""
        return self._holds

    def allow(self, budget: Budget) -> None:
        """Change the trial's budget."""
        self._budget.extend(Cap.of(budget.usd, budget.tokens))

    def lease(self, order: LeaseOrder) -> LeaseState:
        """Change the gateway's lease.

        Raises:
            UsageError: It has none.
        """
        if not self._config.leased or self._config.budget is None:
            raise UsageError("this gateway has no lease: start it with leased and a budget")
        return obey(self._budget, order)

    def get(self, name: str) -> Slot:
        """An open slot."""
        if name not in self._slots:
            raise UsageError(f"slot {name} is not open")
        return self._slots[name]

    async def close(self, name: str) -> None:
        """Close one slot."""
        await self.get(name).close()
        del self._slots[name]

    async def close_all(self) -> None:
        """Close every slot, all at once: whoever waits for this process kills it if it takes long."""
        slots, self._slots = list(self._slots.values()), {}
        await asyncio.gather(*(slot.close() for slot in slots))
