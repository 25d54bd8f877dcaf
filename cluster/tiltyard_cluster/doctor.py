"""Says what this machine has for trials and what it lacks; changes nothing and raises nothing.

A trial that fails in its tenth minute for want of something small is the costliest way to learn of it.
"""

import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import docker
import requests
from docker.errors import DockerException, ImageNotFound

from tiltyard_cluster.look_only import ImageFinder
from tiltyard_cluster.options import cache_folder
from tiltyard_cluster.words import one_line
from tiltyard_images import connect, engine_facts, list_images
from tiltyard_images.pins import DEBIAN_IMAGE
from tiltyard_images.rootfs import PULL_SILENCE, offline
from tiltyard_images.space import GB, MIN_FREE_GB
from tiltyard_runner.owner import OWNER, Owner
from tiltyard_specs import ExitCode
from tiltyard_specs.errors import UnavailableError

State = Literal["ok", "missing", "note"]
_GIT_SECONDS = 10
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of what was found."""

    state: State
    text: str
    code: ExitCode = ExitCode.OK
    """What it makes of the exit code: 69 where something is missing, 65 where the spec is wrong."""

    def __str__(self) -> str:
        """As it is printed."""
        return f"{self.state:<8}{self.text}"


def ok(text: str) -> Finding:
    """It is there."""
    return Finding("ok", one_line(text, _LONGEST))


def note(text: str) -> Finding:
    """Worth knowing, and no hindrance."""
    return Finding("note", one_line(text, _LONGEST))


def missing(text: str, code: ExitCode = ExitCode.UNAVAILABLE) -> Finding:
    """No trial can run without it."""
    return Finding("missing", one_line(text, _LONGEST), code)


def open_engine() -> docker.DockerClient | Finding:
    """A client of the engine, or what keeps one from it."""
    try:
        return connect(timeout=PULL_SILENCE)
    except UnavailableError as error:
        return missing(f"engine: {error}")


def examine_machine(
    engine: docker.DockerClient | Finding, environ: Mapping[str, str], *, builds: bool = True
) -> Iterator[Finding]:
    """What this machine has, whatever the trial.

    Args:
        engine: What `open_engine` returned.
        environ: Where settings come from.
        builds: Whether it builds images itself; a node of a cluster gets them from the driver.
    """
    yield ok(f"Python {platform.python_version()}, Tiltyard {version('tiltyard')}")
    yield _git()
    cache = cache_folder(environ)
    yield _cache(cache)
    if isinstance(engine, Finding):
        yield engine
        yield note("images, networks and leftovers: not looked at, for want of an engine")
        return
    try:
        yield from _engine(engine, environ, cache, builds=builds)
    except (DockerException, requests.RequestException, OSError, KeyError) as error:
        yield missing(f"engine: it failed while it was asked: {error}")


def nearest_folder(path: Path) -> Path:
    """The folder itself, or the nearest above it that is there."""
    return next((each for each in (path, *path.parents) if os.access(each, os.F_OK)), Path("/"))


def _git() -> Finding:
    program = shutil.which("git")
    if program is None:
        return missing("git: not installed; install it (`sudo apt-get install git`)")
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return missing(f"git: {program} does not run: {error}")
    return ok(done.stdout.strip())


def _cache(cache: Path) -> Finding:
    folder = nearest_folder(cache)
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return missing(f"cache: {cache} cannot be written; name another folder in TILTYARD_CACHE")
    made = "" if folder == cache else " (made by the first trial)"
    return ok(f"cache: {cache}{made} is writable and has {_free(folder) / GB:.1f} GB free")


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _engine(
    client: docker.DockerClient, environ: Mapping[str, str], cache: Path, *, builds: bool
) -> Iterator[Finding]:
    facts, info = engine_facts(client), client.info()
    yield ok(
        f"engine: docker {facts.version} (API {facts.api}, {facts.platform}), storage driver "
        f"{facts.storage_driver}, cgroup v{facts.cgroup_version}, {info['NCPU']} processors, "
        f"{info['MemTotal'] / GB:.1f} GB of memory"
    )
    yield from _limits(info)
    images = ImageFinder(client, cache)
    images.base()
    base = not images.missing
    images.forwarder()
    yield from _room(Path(facts.root_dir), cache, lacks=bool(images.missing), environ=environ)
    yield _base(client, here=base) if builds else _from_driver(client)
    # A socket of this machine is mounted into each slot; by TCP too the engine may be this machine's.
    near = _is_local(environ) or facts.name == socket.gethostname()
    forwarder = not any("forwarder" in tag for tag in images.missing)
    yield from _sealed(facts.security_options, near=near, forwarder=_forwarder(here=forwarder, builds=builds))
    yield _leftovers(client)


def _limits(info: Mapping[str, Any]) -> Iterator[Finding]:
    switches = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "processors"}
    lacking = [what for switch, what in switches.items() if not info.get(switch, True)]
    if lacking:
        yield note(f"engine: its kernel bounds no {', no '.join(lacking)}: `limits` are not kept in full")


def _room(root: Path, cache: Path, *, lacks: bool, environ: Mapping[str, str]) -> Iterator[Finding]:
    folders = [("cache", nearest_folder(cache))]
    # The root of an engine elsewhere, or in a virtual machine, is not a folder of this machine.
    if _is_local(environ) and root.is_dir():
        folders.insert(0, ("engine", root))
        yield ok(f"disk: {root} of the engine has {_free(root) / GB:.1f} GB free")
    else:
        yield note(f"disk: the engine's {root} is not on this machine, so its free space is not known")
    for owner, folder in folders:
        if (free := _free(folder)) < MIN_FREE_GB * GB:
            there = f"disk: {folder} of the {owner} has {free / GB:.1f} GB free"
            text = f"{there}, and new images ask for {MIN_FREE_GB:g} GB"
            yield missing(f"{text}; make room") if lacks else note(text)


def _is_local(environ: Mapping[str, str]) -> bool:
    return environ.get("DOCKER_HOST", "unix://").startswith("unix://")


def _base(client: docker.DockerClient, *, here: bool) -> Finding:
    if here:
        return ok("base image: there")
    if _has_debian(client):
        return ok(f"base image: will be built on {DEBIAN_IMAGE}, which is there")
    if shutil.which("mmdebstrap"):
        return ok("base image: will be made, by mmdebstrap where no registry answers")
    wanted = "install mmdebstrap (`sudo apt-get install mmdebstrap`), or load the image by `docker load`"
    if offline():
        return missing(
            f"base image: no {DEBIAN_IMAGE} and no mmdebstrap, and TILTYARD_OFFLINE is set; {wanted}"
        )
    try:
        client.images.get_registry_data(DEBIAN_IMAGE)
    except (DockerException, requests.RequestException) as error:
        return missing(f"base image: no mmdebstrap, and no registry gives {DEBIAN_IMAGE} ({error}); {wanted}")
    return ok(f"base image: will be built on {DEBIAN_IMAGE}, which a registry gives")


def _from_driver(client: docker.DockerClient) -> Finding:
    return ok(f"images: {len(list_images(client))} of Tiltyard's; those that it lacks come from the driver")


def _has_debian(client: docker.DockerClient) -> bool:
    try:
        client.images.get(DEBIAN_IMAGE)
    except ImageNotFound:
        return False
    return True


def _forwarder(*, here: bool, builds: bool) -> str:
    if here:
        return "is there"
    return "will be built, once there is a base image" if builds else "comes from the driver"


def _sealed(options: tuple[str, ...], *, near: bool, forwarder: str) -> Iterator[Finding]:
    if not near:
        yield missing(
            "sealed slots: DOCKER_HOST names an engine elsewhere, which cannot mount the gateway's socket; "
            "run Tiltyard on the engine's machine"
        )
    else:
        yield ok(f"sealed slots: the forwarder image {forwarder}")
    if not any("seccomp" in option for option in options):
        yield missing("sealed slots: the engine has no seccomp, by which runs are kept from the host")


def _leftovers(client: docker.DockerClient) -> Finding:
    found = client.api.containers(all=True, filters={"label": OWNER})
    owners = [Owner.from_labels(each.get("Labels") or {}) for each in found]
    dead = sum(owner is not None and owner.is_dead() for owner in owners)
    if dead:
        return note(f"leftovers: {dead} containers of killed starts; the next `tiltyard run` removes them")
    return ok("leftovers: no containers of killed starts")
