"""The operating system under all layers: Debian from a registry, or bootstrapped where none answers.

Air-gapped and rate-limited machines are common, and a daemon that asks the public registry for a missing
image may hang for minutes: the pull is one bounded try, and mmdebstrap is the way without a registry.
"""

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path

import docker
import requests
from docker.errors import DockerException, ImageNotFound

from tiltyard_images.dockerbuild import tail
from tiltyard_images.engine import connect
from tiltyard_images.errors import NoBaseImageError
from tiltyard_images.pins import DEBIAN_IMAGE, DEBIAN_SUITE
from tiltyard_images.say import Say, Throttled
from tiltyard_specs.errors import UnavailableError

PULL_SILENCE = 20.0
"""Seconds that a registry may stay silent before the try is given up."""
PULL_LIMIT = 300.0
TMPFS = Path("/dev/shm")  # noqa: S108 - a memory disk by its one name; used only when it has room
TMPFS_NEEDED = 1_500_000_000
"""Free bytes that make the memory disk the faster place to bootstrap in."""
MIRROR_VARIABLE = "TILTYARD_DEBIAN_MIRROR"
OFFLINE_VARIABLE = "TILTYARD_OFFLINE"


def offline() -> bool:
    """Tell whether the environment forbids asking a registry."""
    return os.environ.get(OFFLINE_VARIABLE, "") not in {"", "0"}


def find_debian(client: docker.DockerClient, *, ask_registry: bool, say: Say) -> str | None:
    """Return the digest of Debian's image, pulled if need be; None where there is none to have."""
    digest = _local(client)
    if digest is None and ask_registry:
        say(f"asking a registry for {DEBIAN_IMAGE}")
        try:
            _pull(say)
        except (DockerException, requests.RequestException, UnavailableError, TimeoutError) as error:
            say(f"no registry gave {DEBIAN_IMAGE} ({_first_line(error)}); bootstrapping instead")
        digest = _local(client)
    return digest


def _local(client: docker.DockerClient) -> str | None:
    try:
        image = client.images.get(DEBIAN_IMAGE)
    except ImageNotFound:
        return None
    digests = image.attrs.get("RepoDigests") or [f"{DEBIAN_IMAGE}@{image.id}"]
    return str(digests[0]).rpartition("@")[2]


def _pull(say: Say) -> None:
    deadline, progress = time.monotonic() + PULL_LIMIT, Throttled(say, DEBIAN_IMAGE)
    name, _, tag = DEBIAN_IMAGE.partition(":")
    with closing(connect(timeout=PULL_SILENCE)) as client:
        for event in client.api.pull(name, tag=tag, stream=True, decode=True):
            progress(f"{event.get('status', '')} {event.get('progress', '')}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"the pull took longer than {PULL_LIMIT:.0f} s")


def _first_line(error: Exception) -> str:
    text = str(getattr(error, "explanation", None) or error)
    return (text.splitlines() or [type(error).__name__])[0][:200]


def bootstrap(client: docker.DockerClient, tag: str, labels: dict[str, str], *, log: Path, say: Say) -> None:
    """Make a minimal Debian with mmdebstrap and import it under `tag`.

    Raises:
        NoBaseImageError: mmdebstrap is missing or failed.
    """
    if shutil.which("mmdebstrap") is None:
        raise NoBaseImageError(
            f"No registry gives {DEBIAN_IMAGE}, and mmdebstrap is not installed: install it "
            "(`sudo apt-get install mmdebstrap`), or load the image by hand (`docker load`)."
        )
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tiltyard-rootfs-", dir=_scratch()) as folder:
        Path(folder).chmod(0o711)  # the user namespace of an ordinary user maps another id
        archive = Path(folder, "rootfs.tar")
        _mmdebstrap(archive, log, say)
        say(f"importing {DEBIAN_SUITE} ({archive.stat().st_size // 1_000_000} MB)")
        repository, _, version = tag.partition(":")
        changes = [f'LABEL {name}="{value}"' for name, value in labels.items()]
        client.api.import_image_from_file(str(archive), repository, version, changes)


def _scratch() -> str | None:
    if TMPFS.is_dir() and os.access(TMPFS, os.W_OK) and shutil.disk_usage(TMPFS).free > TMPFS_NEEDED:
        return str(TMPFS)
    return None


def _mmdebstrap(archive: Path, log: Path, say: Say) -> None:
    mode = "root" if os.geteuid() == 0 else "unshare"
    mirror = [os.environ[MIRROR_VARIABLE]] if os.environ.get(MIRROR_VARIABLE) else []
    command = ["mmdebstrap", f"--mode={mode}", "--variant=minbase", "--dpkgopt=force-unsafe-io"]
    progress = Throttled(say, "mmdebstrap")
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            [*command, DEBIAN_SUITE, str(archive), *mirror],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env={**os.environ, "TMPDIR": str(archive.parent)},
        ) as process,
    ):
        for line in process.stdout or ():
            file.write(line)
            progress(line)
    if process.returncode != 0:
        raise NoBaseImageError(
            f"mmdebstrap could not make {DEBIAN_SUITE}: it exited with {process.returncode}. "
            f"A mirror can be named by {MIRROR_VARIABLE}. The log is {log}; it ends:\n{tail(log)}"
        )
