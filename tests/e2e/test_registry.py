"""A real registry brings the trial's images to a node with an engine of its own, by digest and for those who
may; one that is away or refuses ends the start before anything is spent.
"""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from tiltyard_cluster.addresses import open_store
from tiltyard_cluster.local_cluster import LocalCluster
from tiltyard_cluster.node_engines import node_engines
from tiltyard_cluster.reading import read_result

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="engines in network namespaces need root"),
]

LOGIN = "trials:secret"
HTPASSWD = "trials:$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
CONFIG = """
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}/data}}}}
http: {{addr: "127.0.0.1:{port}"}}
auth: {{htpasswd: {{realm: trials, path: {folder}/htpasswd}}}}
"""
SPEC: dict[str, Any] = {
    "seed": 3,
    "defaults": {"reps": 2, "timeout": 120},
    "limits": {"memory": "64m", "cpus": 0.5},
    "arms": [{"name": "plain"}, {"name": "brief", "prompt_suffix": "Briefly."}],
    "agents": [{"name": "four", "kind": "text", "command": "echo 4"}],
    "questions": [{"id": "sum", "prompt": "2+2?", "expect": ["4"]}],
}
OWN_PYTHON = """
import platform
platform.python_version = lambda: "3.11.99"
"""
"""Python runs it as it starts, where it is found as sitecustomize: a node that is not as the driver."""


@dataclass
class Registry:
    """The same registry at one address in several network namespaces: loopback needs no TLS."""

    port: int
    folder: Path

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.port}/trials/tiltyard"

    @contextmanager
    def serving(self, network: tuple[str, ...]) -> Iterator["subprocess.Popen[bytes]"]:
        """Serve in an engine's network."""
        command = [*network, "docker-registry", "serve", str(self.folder / "config.yml")]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                yield process
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(30)

    def answers(self, network: tuple[str, ...]) -> bool:
        asking = f"import socket; socket.create_connection(('127.0.0.1', {self.port}), 5)"
        done = subprocess.run([*network, sys.executable, "-c", asking], check=False, capture_output=True)
        return done.returncode == 0


@dataclass
class Grid:
    """A driver's engine, a node with another one, and the variables of who uses them."""

    cluster: LocalCluster
    engines: list[docker.DockerClient]
    networks: Sequence[tuple[str, ...]]
    """For each engine the command before a command in its network."""
    driver: dict[str, str]
    """Of a driver that has not logged in."""
    login: dict[str, str]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """Debian's docker-registry; `infra/host-tools.sh --tests` installs it."""
    assert shutil.which("docker-registry"), "infra/host-tools.sh --tests"
    folder = tmp_path_factory.mktemp("registry")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "htpasswd").write_text(f"{HTPASSWD}\n")
    (folder / "config.yml").write_text(CONFIG.format(folder=folder, port=port))
    return Registry(port, folder)


@pytest.fixture(scope="module")
def grid(
    registry: Registry,
    furnish: Callable[[docker.DockerClient], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Grid]:
    folder = tmp_path_factory.mktemp("docker")
    auth = {"auth": base64.b64encode(LOGIN.encode()).decode()}
    (folder / "config.json").write_text(json.dumps({"auths": {f"127.0.0.1:{registry.port}": auth}}))
    login = {"DOCKER_CONFIG": str(folder)}
    with ExitStack() as stack:
        environs = stack.enter_context(node_engines(2))
        (folder / "sitecustomize.py").write_text(OWN_PYTHON)
        own = {**environs[1], **login, "PYTHONPATH": str(folder)}
        cluster = stack.enter_context(LocalCluster(1, environs=(own,)))
        hosts = [each["DOCKER_HOST"] for each in environs]
        engines = [docker.DockerClient(host, version="1.41") for host in hosts]
        for each in engines:
            stack.callback(each.close)
        furnish(engines[0])
        pids = [Path(host.removeprefix("unix://")).with_name("pid").read_text() for host in hosts]
        networks = [("nsenter", f"--net=/proc/{pid}/ns/net") for pid in pids]
        cache = {"TILTYARD_CACHE": str(folder / "cache")}
        yield Grid(cluster, engines, networks, {**cluster.environ, **environs[0], **cache}, login)


def test_images_reach_a_node_by_digest(
    world: Any, grid: Grid, registry: Registry, until: Callable[..., None]
) -> None:
    world.write(SPEC)
    command = ("--cluster", grid.cluster.address, "--registry", registry.name)
    with registry.serving(grid.networks[0]), registry.serving(grid.networks[1]) as there:
        for network in grid.networks:
            until(lambda network=network: registry.answers(network), "a registry")
        done = world("run", "trial.yaml", *command, **grid.driver, **grid.login)
        looked = doctor(world, grid, registry)
        there.send_signal(signal.SIGTERM)
        there.wait(30)
        away = doctor(world, grid, registry)

    assert done.code == 0, done.err
    assert f"pushing 2 images to {registry.name} for nodes that lack them" in done.err
    records = read_result(open_store(str(world.out)), str(world.out)).records
    assert [(record.outcome, record.node) for record in records] == [
        ("passed", grid.cluster.node(0).host)
    ] * 4
    assert {record.versions["python"] for record in records} == {"3.11.99"}, "the node's, not the driver's"
    ran = {fact.id for record in records for fact in record.images.values()}
    here, far = ({str(image.id): image for image in each.images.list()} for each in grid.engines)
    assert len(far) == 2
    assert ran & set(far)
    assert set(far) <= set(here), "the same ids"
    names = [name for image in far.values() for name in image.attrs["RepoDigests"]]
    assert all(name.startswith(f"{registry.name}@sha256:") for name in names)
    assert len(names) == 2
    assert {layer for image in far.values() for layer in layers(image)} == {"forwarder", "workspace"}
    assert not [name for image in here.values() for name in image.tags if registry.name in name]
    assert looked.code == 0, looked.out + looked.err
    assert f"ok      registry: {registry.name} answers this engine" in looked.out
    assert away.code == 69
    assert f"missing registry: its engine cannot use the registry {registry.name}: " in away.out


def layers(image: Any) -> list[str]:
    """By the names that `tiltyard images` knows."""
    return [name.removeprefix("tiltyard/").partition(":")[0] for name in image.tags]


def doctor(world: Any, grid: Grid, registry: Registry) -> Any:
    command = ("cluster", "doctor", grid.cluster.address, "--registry", registry.name)
    return world(*command, **grid.driver, **grid.login)


def test_a_registry_that_is_away_or_refuses_ends_the_start(
    world: Any, grid: Grid, registry: Registry, until: Callable[..., None], tmp_path: Path
) -> None:
    """Named by the environment here; nobody has logged in."""
    world.write(SPEC, "refused.yaml")
    environ = {**grid.driver, "TILTYARD_REGISTRY": registry.name, "DOCKER_CONFIG": str(tmp_path)}
    run = ("run", "refused.yaml", "--cluster", grid.cluster.address)
    away = world(*run, **environ)
    with registry.serving(grid.networks[0]):
        until(lambda: registry.answers(grid.networks[0]), "a registry")
        refused = world(*run, **environ)

    assert (away.code, refused.code) == (69, 69), away.err + refused.err
    what = f"the trial's images cannot be pushed to the registry {registry.name}: "
    assert what in away.err
    assert "connection refused; see that it runs" in away.err
    assert what in refused.err
    assert f"docker login 127.0.0.1:{registry.port}" in refused.err
    assert not list((world.folder / "refused-results").rglob("run.json"))
