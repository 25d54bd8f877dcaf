"""The driver's handle on the gateway process: synchronous, thread-safe, standard library only."""

import http.client
import json
import os
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from tiltyard_gateway.config import (
    GatewayConfig,
    LeaseOrder,
    LeaseState,
    RunMeter,
    RunTicket,
    Spent,
    meter_from_wire,
    to_wire,
)
from tiltyard_gateway.process import HelperProcess
from tiltyard_specs.calls import Call
from tiltyard_specs.errors import UnavailableError, UsageError
from tiltyard_specs.trial import Budget

_CONTROL_NAME = "control.sock"
_PREFIX = "tiltyard-gw-"
_LONGEST_FOLDER = 60
_STALE_SECONDS = 600
_TIMEOUT = 60.0
_CLIENT_ERROR = 400
_SERVER_ERROR = 500


class GatewayProcess:
    """Starts the gateway, and ends it whatever happens.

    Args:
        config: How it works.
        wait: Whether entering waits until it is ready, and tells when it cannot start. Without, slots can be
            promised meanwhile, and the first command waits, or tells.

    Example:
        with GatewayProcess(GatewayConfig()) as gateway:
            folder = gateway.open_slot("0")
            gateway.begin("0", ticket)
            ...
            meter = gateway.end("0")
    """

    def __init__(self, config: GatewayConfig, *, wait: bool = True) -> None:
        self._given = config
        self._wait = wait
        self._starting = threading.Lock()
        self._ready = False
        self._promised: list[str] = []
        self._folder: Path | None = None
        self._process: HelperProcess | None = None

    def __enter__(self) -> Self:
        self._folder = folder = _made(self._given.folder) if self._given.folder else _fresh_folder()
        config = self._given.model_copy(update={"folder": folder})
        process = HelperProcess("tiltyard_gateway", name="the gateway", first_line=to_wire(config))
        self._process = process
        try:
            process.start()
            if self._wait:
                self._await_ready()
        except BaseException:
            process.stop()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            self._process.stop()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def folder(self) -> Path:
        """Where the sockets are."""
        if self._folder is None:
            raise UsageError("the gateway has not been started: use it in a with statement")
        return self._folder

    @property
    def pid(self) -> int:
        """The process id of the gateway."""
        return self._helper().pid

    def alive(self) -> bool:
        """Whether the gateway still answers."""
        try:
            self._ask("GET", "/alive")
        except UnavailableError:
            return False
        return True

    def open_slot(self, name: str) -> Path:
        """Open a slot and return the folder, with `gw.sock` in it, to mount into the forwarder."""
        return Path(self._command(name, "open")["folder"])

    def promise_slot(self, name: str) -> Path:
        """The folder of a slot that is open from the first command on; `gw.sock` may come into it later."""
        with self._starting:
            if not self._ready:
                folder = self.folder / name
                folder.mkdir(mode=0o755)
                self._promised.append(name)
                return folder
        return self.open_slot(name)

    def begin(self, name: str, ticket: RunTicket) -> None:
        """Give the slot to a run: from now on its socket serves this run's placebo key."""
        self._command(name, "begin", to_wire(ticket))

    def spent(self) -> Spent:
        """What all runs have used so far, earlier spend included, and what calls in flight reserve."""
        return Spent.model_validate(self._ask("GET", "/spent"))

    def allow(self, budget: Budget) -> None:
        """Change the trial's budget from now on, earlier spend included."""
        self._ask("POST", "/budget", to_wire(budget))

    def lease(self, order: LeaseOrder) -> LeaseState:
        """Change the lease of a gateway that has one, and hear how it stands."""
        return LeaseState.model_validate(self._ask("POST", "/lease", to_wire(order)))

    def held(self) -> dict[str, float]:
        """Addresses of providers that requests are held back from now, and for how many seconds yet."""
        return self._ask("GET", "/held")

    def hold(self, seconds: dict[str, float]) -> None:
        """Hold requests back from these addresses, because another node was told so."""
        self._ask("POST", "/hold", json.dumps(seconds))

    def meter(self, name: str) -> RunMeter:
        """What the run that owns the slot has used so far."""
        return meter_from_wire(self._command(name, "calls"))

    def calls(self, name: str) -> tuple[Call, ...]:
        """The settled calls of the run that owns the slot, so far."""
        return self.meter(name).calls

    def waited(self, name: str) -> float:
        """Seconds for which calls of the run that owns the slot were held back so far."""
        return float(self._ask("GET", f"/slots/{name}/waited")["seconds"])

    def end(self, name: str) -> RunMeter:
        """Close the run: what is in flight is broken off and settled, later requests are refused."""
        return meter_from_wire(self._command(name, "end"))

    def close_slot(self, name: str) -> None:
        """Close a slot and remove its socket."""
        self._command(name, "close")

    def _command(self, slot: str, command: str, body: str = "") -> dict[str, Any]:
        return self._ask("POST", f"/slots/{quote(slot, safe='')}/{command}", body)

    def ready(self) -> Self:
        """This gateway, once it is ready.

        Raises:
            UnavailableError: It cannot start.
        """
        self._await_ready()
        return self

    def _await_ready(self) -> None:
        with self._starting:
            if not self._ready:
                self._helper().await_ready()
                for name in self._promised:
                    self._send("POST", f"/slots/{quote(name, safe='')}/open")
                self._ready = True

    def _ask(self, method: str, path: str, body: str = "") -> dict[str, Any]:
        if not self._ready:
            self._await_ready()
        return self._send(method, path, body)

    def _send(self, method: str, path: str, body: str = "") -> dict[str, Any]:
        connection = _UnixConnection(self.folder / _CONTROL_NAME, _TIMEOUT)
        try:
            connection.request(method, path, body.encode(), {"Content-Type": "application/json"})
            response = connection.getresponse()
            data: dict[str, Any] = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            words = self._helper().last_words() or str(error)
            raise UnavailableError(
                f"the gateway does not answer; start the trial again to go on: {words}"
            ) from error
        finally:
            connection.close()
        if response.status >= _SERVER_ERROR:
            raise UnavailableError(f"gateway: {data.get('error')}")
        if response.status >= _CLIENT_ERROR:
            raise UsageError(f"gateway: {data.get('error')}")
        return data

    def _helper(self) -> HelperProcess:
        if self._process is None:
            raise UsageError("the gateway has not been started: use it in a with statement")
        return self._process


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Open the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _made(folder: Path) -> Path:
    """The folder is removed at the end, so it must be the gateway's own."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError as error:
        raise UsageError(f"the gateway's folder {folder} exists already: name one that does not") from error
    return folder


def _fresh_folder() -> Path:
    """A new private folder with a path short enough for unix sockets. Folders of dead gateways go first."""
    parent = Path(tempfile.gettempdir())
    if len(str(parent)) > _LONGEST_FOLDER:
        parent = Path("/tmp")  # noqa: S108 - mkdtemp makes a private folder in it; socket paths are limited to 107 bytes
    remove_stale_folders(parent, now=time.time())
    # By the number a later start knows that this process is gone, however young the folder.
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))


def remove_stale_folders(parent: Path, *, now: float) -> None:
    """Remove the socket folders of gateways that were killed together with their driver."""
    for folder in parent.glob(_PREFIX + "*"):
        try:
            status = folder.lstat()
        except FileNotFoundError:
            continue
        young = now - status.st_mtime < _STALE_SECONDS and not _maker_is_gone(folder)
        if status.st_uid != os.getuid() or young or _answers(folder / _CONTROL_NAME):
            continue
        shutil.rmtree(folder, ignore_errors=True)


def _maker_is_gone(folder: Path) -> bool:
    pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
    return pid.isdigit() and not Path("/proc", pid).exists()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
