"""The door to the Docker engine: a checked connection, and the facts that a record keeps about it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import docker
import requests
from docker.constants import MINIMUM_DOCKER_API_VERSION
from docker.errors import DockerException
from docker.transport import UnixHTTPAdapter
from docker.transport.unixconn import UnixHTTPConnectionPool

from tiltyard_specs.errors import UnavailableError

CALL_TIMEOUT = 300.0
"""Seconds that the engine may stay silent in one call: committing a large layer to a slow disk is silent."""
POOL_SIZE = 64
"""Connections kept open: as many threads as a node runs may call the engine at once."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What a record says about the engine that ran it."""

    version: str
    api: str
    platform: str
    """Operating system and architecture, as in `linux/amd64`."""
    storage_driver: str
    cgroup_version: str
    root_dir: str
    security_options: tuple[str, ...]
    name: str
    """Host name of the engine's machine."""


_UNIX = "http+docker://"
"""How the client calls an engine behind a unix socket."""


def connect(timeout: float = CALL_TIMEOUT) -> docker.DockerClient:
    """Return a client of the engine that the environment names, after one answered.

    Raises:
        UnavailableError: No engine answers there.
    """
    try:
        version = _api_version(timeout)
        client = docker.from_env(version=version, timeout=int(timeout), max_pool_size=POOL_SIZE)
    except (DockerException, requests.RequestException, ValueError) as error:
        raise UnavailableError(_no_engine(error)) from error
    if client.api.base_url.startswith(_UNIX):
        # Nothing lies between us and a socket: looking for proxies and passwords took half of each call.
        client.api.trust_env = False
        theirs = client.api.get_adapter(client.api.base_url)
        assert isinstance(theirs, UnixHTTPAdapter)  # noqa: S101  # what answers to such an address
        client.api.mount(_UNIX, _OnePool(theirs.socket_path, int(timeout), max_pool_size=POOL_SIZE))
    return client


class _OnePool(UnixHTTPAdapter):
    """Keeps connections to the engine open between calls.

    The engine's client has a pool for each address, and an address names a container: hardly one of them is
    used twice, and each call paid for a pool and a connection of its own.
    """

    def get_connection(
        self, url: str | bytes, proxies: Mapping[str, str] | None = None
    ) -> UnixHTTPConnectionPool:
        """The one pool, whatever the address in full."""
        del url
        return super().get_connection(_UNIX, proxies)


def _api_version(timeout: float) -> str:
    """The version of its API that the engine speaks.

    Left to itself a client asks while it is made, and where that fails nobody can close its connection.
    """
    asking = docker.from_env(version=MINIMUM_DOCKER_API_VERSION, timeout=int(timeout))
    try:
        return str(asking.version(api_version=False)["ApiVersion"])
    finally:
        asking.close()


def _no_engine(error: Exception) -> str:
    where = os.environ.get("DOCKER_HOST") or "the default socket /var/run/docker.sock"
    if "PermissionError" in repr(error) or "Permission denied" in str(error):
        return (
            f"This user may not talk to the Docker engine at {where}: add it to the group `docker` "
            "(`sudo usermod -aG docker $USER`, then log in again)."
        )
    return (
        f"No Docker engine answers at {where}: start one with `make engine`, "
        f"or set DOCKER_HOST to one that runs ({error})."
    )


def engine_facts(client: docker.DockerClient) -> EngineFacts:
    """Ask the engine what it is."""
    version, info = client.version(), client.info()
    return EngineFacts(
        version=version["Version"],
        api=version["ApiVersion"],
        platform=f"{version['Os']}/{version['Arch']}",
        storage_driver=info.get("Driver", ""),
        cgroup_version=info.get("CgroupVersion", "1"),
        root_dir=info.get("DockerRootDir", ""),
        security_options=tuple(info.get("SecurityOptions") or ()),
        name=info.get("Name", ""),
    )
