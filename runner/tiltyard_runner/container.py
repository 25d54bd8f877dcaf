"""One throwaway container: hardened when made, always removed, driven through the engine's API alone."""

import io
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import TracebackType
from typing import Any, Self

import docker
import docker.errors
from docker.utils.socket import frames_iter

from tiltyard_runner.disk_quota import with_quota
from tiltyard_runner.errors import InfraError
from tiltyard_runner.reaper import remove
from tiltyard_runner.seccomp import profile
from tiltyard_specs.record import DiskBound

AGENT_UID = 1000
ROOT_UID = 0
HOME = "/home/agent"
WORKSPACE = "/workspace"
_STDERR = 2
_END_SECONDS = 120
"""A kill waits for what a process has the kernel write at that moment."""
_CODE_SECONDS = 10.0
_POLL_FIRST, _POLL_LAST = 0.005, 0.25


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the container may use."""

    cpus: float
    """CPU cores."""
    memory: int
    """Bytes; swap is not added to it."""
    pids: int
    disk: int
    """Bytes of one file; the sum is watched while the container runs."""


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """Everything that `Container` needs to make one."""

    image: str
    argv: tuple[str, ...]
    labels: Mapping[str, str]
    bounds: Bounds | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    user: int = AGENT_UID
    workdir: str = WORKSPACE
    network: str = "none"
    """`none`, `bridge`, or `container:<id>`."""
    binds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileToPut:
    """A file to place in a container."""

    path: str
    """Absolute path in the container."""
    content: bytes
    mode: int = 0o644
    uid: int = AGENT_UID


@dataclass(frozen=True, slots=True)
class State:
    """How a container stands, as the engine says."""

    running: bool
    exit_code: int
    oom_killed: bool
    error: str


class Container:
    """A container that exists from `__enter__` and is removed at `__exit__`, whatever happens between."""

    def __init__(self, client: docker.DockerClient, plan: ContainerPlan) -> None:
        self._client = client
        self._plan = plan
        self.id = ""
        self.disk_bound: DiskBound | None = None
        """What keeps the disk limit; None where there is none."""
        self.network_alive: bool | None = None
        """Whether the container whose network it shares ran at `layer_bytes`; None: not known."""

    def __enter__(self) -> Self:
        bounds = self._plan.bounds
        if bounds is None:
            self.id = self._create(None)
        else:
            self.id, self.disk_bound = with_quota(self._client.api, bounds.disk, self._create)
        return self

    def _create(self, storage: dict[str, str] | None) -> str:
        plan = self._plan
        created = self._client.api.create_container(
            image=plan.image,
            entrypoint=[plan.argv[0]],
            command=list(plan.argv[1:]),
            user=f"{plan.user}:{plan.user}",
            working_dir=plan.workdir,
            environment=dict(plan.env),
            labels=dict(plan.labels),
            host_config=self._host_config(storage),
        )
        return str(created["Id"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Errors here must not turn a graded run into an infra loss: the reaper gets what stays.
        with suppress(docker.errors.DockerException, OSError):
            remove(self._client, self.id)

    def _host_config(self, storage: dict[str, str] | None = None) -> dict[str, Any]:
        plan = self._plan
        options: dict[str, Any] = {
            "network_mode": plan.network,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true", f"seccomp={profile()}"],
            "init": True,
            "log_config": {"Type": "none", "Config": {}},
            "binds": list(plan.binds),
            "restart_policy": {"Name": "no"},
            "storage_opt": storage,
        }
        # No nofile: the engine's own is the limit, and one above its hard limit fails the start.
        ulimits: list[docker.types.Ulimit] = []
        if plan.bounds is not None:
            bounds = plan.bounds
            ulimits += [
                docker.types.Ulimit(name="fsize", soft=bounds.disk, hard=bounds.disk),
                docker.types.Ulimit(name="core", soft=0, hard=0),
            ]
            options |= {
                "nano_cpus": int(bounds.cpus * 1e9),
                "mem_limit": bounds.memory,
                "memswap_limit": bounds.memory,
                "pids_limit": bounds.pids,
            }
        config: dict[str, Any] = self._client.api.create_host_config(ulimits=ulimits, **options)
        return config

    def start(self) -> None:
        """Start the main process."""
        self._client.api.start(self.id)

    def attach(self) -> Iterator[tuple[bytes | None, bytes | None]]:
        """The main process's output as (stdout, stderr) chunks until it ends; call before `start`."""
        wanted = {"stdout": 1, "stderr": 1, "stream": 1, "logs": 0}
        return _chunks(self._client.api.attach_socket(self.id, params=wanted))

    def kill(self, signal: str = "SIGKILL") -> None:
        """Signal the main process; a container that has ended is left as it is."""
        try:
            self._client.api.kill(self.id, signal)
        except docker.errors.APIError as error:
            if error.status_code not in {404, 409}:
                raise

    def end(self) -> None:
        """Kill everything that runs in the container; nothing of it runs when this returns."""
        self.kill()
        self._client.api.wait(self.id, timeout=_END_SECONDS)

    def leave_network(self, network: str) -> None:
        """Cut a running container off from a network."""
        self._client.api.disconnect_container_from_network(self.id, network)

    def state(self) -> State:
        """How it stands now."""
        state = self._client.api.inspect_container(self.id)["State"]
        return State(
            running=bool(state["Running"]),
            exit_code=int(state["ExitCode"]),
            oom_killed=bool(state.get("OOMKilled")),
            error=str(state.get("Error") or ""),
        )

    def layer_bytes(self) -> int | None:
        """Size of the writable layer as the engine reports it, or None where it does not."""
        self.network_alive = None
        host = self._plan.network.partition("container:")[2]
        # One call for both: a further one waits long where containers start and end.
        found = self._client.api.containers(all=True, size=True, filters={"id": [self.id, host or self.id]})
        rows: dict[str, dict[str, Any]] = {row["Id"]: row for row in found}
        self.network_alive = rows.get(host, {}).get("State") == "running" if host else None
        size = rows.get(self.id, {}).get("SizeRw")
        return None if size is None else int(size)

    def put(self, files: Iterable[FileToPut]) -> None:
        """Write files into the container's file system, running or not."""
        members = [(member, content) for file in files for member, content in _members(file)]
        if not members:
            return
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for member, content in members:
                archive.addfile(member, io.BytesIO(content))
        self._client.api.put_archive(self.id, "/", buffer.getvalue())

    def put_archive(self, path: str, chunks: Iterable[bytes]) -> None:
        """Unpack a tar stream below `path`, which exists."""
        self._client.api.put_archive(self.id, path, chunks)

    def get_archive(self, path: str) -> Iterator[bytes]:
        """A tar stream of `path`."""
        stream, _ = self._client.api.get_archive(self.id, path, chunk_size=1 << 20)
        chunks: Iterator[bytes] = stream
        return chunks

    def run(
        self,
        argv: Sequence[str],
        *,
        user: int,
        env: Mapping[str, str] | None = None,
        workdir: str = WORKSPACE,
    ) -> "Exec":
        """Start a further process in the running container."""
        created = self._client.api.exec_create(
            self.id,
            list(argv),
            user=f"{user}:{user}",
            environment=dict(env or {}),
            workdir=workdir,
        )
        return Exec(self._client, created["Id"])


class Exec:
    """A further process in a running container."""

    def __init__(self, client: docker.DockerClient, exec_id: str) -> None:
        self._client = client
        self._id = exec_id

    def stream(self) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Start it; its output as (stdout, stderr) chunks. A child may hold it open after the end."""
        return _chunks(self._client.api.exec_start(self._id, socket=True))

    def output(self) -> tuple[int, bytes]:
        """Start it and wait: exit code and combined output."""
        out: bytes = self._client.api.exec_start(self._id)
        return self.final_code(), out

    def exit_code(self) -> int | None:
        """None while it runs."""
        found = self._client.api.exec_inspect(self._id)
        code: int | None = found["ExitCode"]
        return None if found["Running"] else code

    def final_code(self) -> int:
        """The exit code of a process whose output has ended; the engine may learn it a little later."""
        pause, deadline = _POLL_FIRST, time.monotonic() + _CODE_SECONDS
        while (code := self.exit_code()) is None:
            if time.monotonic() > deadline:
                raise InfraError("the engine does not say how a process ended whose output has ended")
            time.sleep(pause)
            pause = min(2 * pause, _POLL_LAST)
        return code


def _chunks(connection: Any) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Both streams from the engine's one, which is closed at the end: the engine's client leaves it open."""
    try:
        # It waits without a timeout, as it must: an agent may be silent for long.
        for stream, chunk in frames_iter(connection, tty=False):  # type: ignore[no-untyped-call]  # the stubs'
            yield (None, chunk) if stream == _STDERR else (chunk, None)
    finally:
        # Only the response, where there is one, has a handle on the connection beneath.
        getattr(connection, "_response", connection).close()


def _members(file: FileToPut) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """A file and the folders it needs in HOME: the engine would make missing ones as root's."""
    path = PurePosixPath(file.path)
    if path.is_relative_to(HOME):
        for folder in reversed([parent for parent in path.parents if str(parent).startswith(f"{HOME}/")]):
            yield _member(str(folder), tarfile.DIRTYPE, 0o755, file.uid), b""
    member = _member(file.path, tarfile.REGTYPE, file.mode, file.uid)
    member.size = len(file.content)
    yield member, file.content


def _member(path: str, kind: bytes, mode: int, uid: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path.lstrip("/"))
    info.type, info.mode = kind, mode
    info.uid = info.gid = uid
    return info
