"""A driver's connection to a Ray cluster: who is in it, and actors on its nodes.

The only module that talks to Ray. Left to its defaults Ray joins whatever cluster another user has left on
the machine, prints, and takes the process's signals: each of that is ruled out here.
"""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from textwrap import shorten
from types import TracebackType
from typing import Any, Self

from tiltyard_cluster.local_cluster import require_ray
from tiltyard_cluster.ray_demand import Bundles
from tiltyard_specs.errors import UnavailableError

_LOOPBACK = "127."
_UNHEARD = "Failed to connect to Ray cluster"
"""What Ray says where somebody answers and is no head, or takes our token for a wrong one."""
_PROBE_SECONDS = 5.0
_QUIET = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # Ray would end this very process, without a word, when the head has been silent for a minute.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "3600",
}
"""Unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A living node."""

    id: str
    """Ray's; a node that comes back has a new one."""
    name: str
    """For people and records."""
    cpus: float = 0.0
    """Processors that Ray knows of; an autoscaler's nodes have some."""


@dataclass(slots=True)
class Actor:
    """An actor, called by the names of its methods."""

    handle: Any

    def call(self, method: str, *args: object, **options: object) -> "Future[Any]":
        """Call a method; the future fails with what it raises, or with the actor's loss."""
        future: Future[Any] = getattr(self.handle, method).remote(*args, **options).future()
        return future

    def kill(self) -> None:
        """End its process without asking it."""
        import ray  # noqa: PLC0415  # only a cluster needs Ray

        ray.kill(self.handle, no_restart=True)


@dataclass(slots=True)
class RaySession:
    """Connected from `__enter__` to `__exit__`.

    Attributes:
        address: `HOST:PORT` of the head, or `auto` for the cluster of this machine.
        environ: What Ray is to find in the environment meanwhile, such as the token.
    """

    address: str
    environ: Mapping[str, str] = field(default_factory=dict)
    _before: dict[str, str | None] = field(default_factory=dict)

    def __enter__(self) -> Self:
        """Connect.

        Raises:
            UnavailableError: No such cluster, it wants another token, or this machine is no part of it.
        """
        require_ray()
        _require_answer(self.address)
        wanted = _QUIET | dict(os.environ) | dict(self.environ)
        if self.address.startswith(_LOOPBACK):
            # Else Ray takes the address of the network card for the one that was meant.
            wanted["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "1"
        self._before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            with _own_signals():
                self._connect()
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import ray  # noqa: PLC0415

        try:
            ray.shutdown()
        finally:
            self._restore()

    def nodes(self) -> tuple[ClusterNode, ...]:
        """The living nodes, as the head knows them.

        Raises:
            UnavailableError: The head does not answer.
        """
        import ray  # noqa: PLC0415

        look: Callable[[], list[dict[str, Any]]] = ray.nodes
        try:
            found = [node for node in look() if node["Alive"]]
        except Exception as error:  # Ray has no common error for a head that is gone
            raise UnavailableError(f"the head of the cluster does not answer: {error}") from error
        names = list(_names(found))
        return tuple(
            ClusterNode(node["NodeID"], name, float(node["Resources"].get("CPU", 0.0)))
            for node, name in zip(found, names, strict=True)
        )

    def request(self, bundles: Bundles) -> None:
        """Have an autoscaler, where there is one, bring nodes on which all of these fit.

        Raises:
            UnavailableError: The head does not take it.
        """
        from ray.autoscaler.sdk import request_resources  # noqa: PLC0415

        try:
            request_resources(bundles=[dict(bundle) for bundle in bundles])
        except Exception as error:  # Ray has no common error for a head that is gone
            raise UnavailableError(f"the head of the cluster takes no request: {error}") from error

    @property
    def own_node(self) -> str:
        """Id of the node that this process is on."""
        import ray  # noqa: PLC0415

        return str(ray.get_runtime_context().get_node_id())

    def actor(self, kind: type, node: str, *args: object, threads: int = 1) -> Actor:
        """Start an actor on a node. Nothing of it is ever tried again by Ray: a run costs money.

        Args:
            kind: Its class.
            node: Id of the node.
            args: For its constructor.
            threads: Calls that it serves at once.

        Raises:
            UnavailableError: The head does not take it.
        """
        import ray  # noqa: PLC0415
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

        options: dict[str, Any] = {
            "num_cpus": 0,
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": threads,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False),
        }
        remote: Any = ray.remote(**options)
        try:
            return Actor(remote(kind).remote(*args))
        except Exception as error:  # Ray has no common error for a head that is gone
            raise UnavailableError(f"no worker can be started: {error}") from error

    def head_answers(self) -> bool:
        """Whether the head's port is open."""
        import ray  # noqa: PLC0415

        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _PROBE_SECONDS).close()
        except OSError:
            return False
        return True

    def _connect(self) -> None:
        import ray  # noqa: PLC0415

        host = self.address.partition(":")[0]
        own: dict[str, Any] = {"_node_ip_address": host} if host.startswith(_LOOPBACK) else {}
        try:
            ray.init(
                address=self.address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
                **own,
            )
        except Exception as error:  # Ray raises what it likes here
            raise UnavailableError(_refusal(self.address, error)) from error
        _hush()

    def _restore(self) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _names(nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    nodes = list(nodes)
    hosts = [str(node["NodeManagerHostname"]) for node in nodes]
    for node, host in zip(nodes, hosts, strict=True):
        address = str(node["NodeManagerAddress"])
        if address.startswith(_LOOPBACK):
            yield address
        else:
            yield host if hosts.count(host) == 1 else f"{host}/{address}"


def _require_answer(address: str) -> None:
    """Ray itself asks for two minutes, and in its own words."""
    host, found, port = address.rpartition(":")
    if not found:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PROBE_SECONDS).close()
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"nothing answers at {address} ({error}); see that the cluster runs and that its head is there"
        ) from error


def _refusal(address: str, error: Exception) -> str:
    said = " ".join(str(error).split())
    if type(error).__name__ == "AuthenticationError" or _UNHEARD in said:
        return (
            f"the Ray cluster at {address} does not let us in: give its token in RAY_AUTH_TOKEN_PATH, as "
            "`tiltyard cluster up` prints it, or in RAY_AUTH_TOKEN, and see that the port is its head's"
        )
    return (
        f"the Ray cluster at {address} cannot be used: {shorten(said, 400, placeholder=' ...')} "
        "This machine must be one of its nodes: `ray start --address=HOST:PORT`"
    )


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself when it connects."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


def _hush() -> None:
    """Ray prints to our output what happens to nodes: we tell it ourselves."""
    from ray._private import worker  # noqa: PLC0415

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None
