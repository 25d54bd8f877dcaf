"""What happens in the build container of a workspace and of an arm."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from tiltyard_images import scripts
from tiltyard_images.box import BuildBox, Command
from tiltyard_images.dockerbuild import tail
from tiltyard_images.errors import ImageBuildError, SetupFailedError
from tiltyard_images.gitdata import git_archive
from tiltyard_images.hostenv import HostEnv
from tiltyard_images.keys import key_of, mapping_digest, tree_digest
from tiltyard_images.model import AGENT_UID, HOME, WORKSPACE, ArmContent, History, Image, TreeFile
from tiltyard_images.repos import Checkout
from tiltyard_images.say import Throttled
from tiltyard_images.tars import of_files, of_tree
from tiltyard_specs.errors import DataError

STEPS = "1"
"""Raised when the Python below changes what comes out: all workspaces and arms are then built anew."""
RECIPE = key_of(
    STEPS, scripts.CHECK_OUT, scripts.baseline("none"), scripts.baseline("full"), str(scripts.GIT_ENV)
)


def workspace_key(parent: Image, checkout: Checkout | None, *, writable: bool, history: History) -> str:
    """Return the key of a workspace: the commit, and how much of its history shows."""
    commit = checkout.commit if checkout else "empty"
    return key_of("workspace", RECIPE, parent.key, commit, history, str(writable))


def arm_key(parent: Image, content: ArmContent) -> str:
    """Return the key of an arm: everything that it adds, in order where order matters."""
    overlay = tree_digest(content.overlay) if content.overlay else ""
    files = [part for file in content.files for part in (file.path, str(file.mode), file.content)]
    return key_of(
        *(
            "arm",
            RECIPE,
            parent.key,
            overlay,
            key_of(*files),
            key_of(*content.prepare),
            key_of(*content.setup),
        ),
        *(mapping_digest(content.env), str(content.writable), content.history),
    )


@dataclass(frozen=True, slots=True)
class Site:
    """Where a recipe runs: its container, its log and its limits."""

    box: BuildBox
    log: IO[bytes]
    log_path: Path
    timeout: float
    """Seconds that each command may take."""
    say: Throttled
    env: HostEnv

    def script(self, text: str, *, writable: bool) -> None:
        """Run one of our own scripts.

        Raises:
            ImageBuildError: It failed, which is our fault or the engine's.
        """
        command = Command(["sh", "-c", text], scripts.script_env(writable=writable))
        status = self.box.run(command, self.log, timeout=self.timeout, say=self.say)
        if status != 0:
            raise ImageBuildError(
                f"Preparing the working tree exited with {status}. The log is {self.log_path}; it ends:\n"
                f"{tail(self.log_path)}"
            )


def make_workspace(site: Site, checkout: Checkout | None, *, writable: bool, history: History) -> None:
    """Put the repository's allowed history into the container and check out its tree."""
    with git_archive(checkout, history) as archive:
        site.box.put(WORKSPACE, archive)
    site.script(scripts.CHECK_OUT, writable=writable)


def make_arm(site: Site, content: ArmContent) -> None:
    """Put the arm's files in, run its commands, and make the result the agent's starting point.

    Raises:
        SetupFailedError: A command of the arm failed or ran out of time.
    """
    owner = AGENT_UID if content.writable else 0
    if content.overlay is not None:
        with of_tree(content.overlay, WORKSPACE.lstrip("/"), uid=owner) as archive:
            site.box.put("/", archive)
    for uid, files in _by_owner(content.files, owner):
        site.box.put("/", of_files(files, uid=uid))
    for command in (*content.prepare, *content.setup):
        _run_setup(site, command, dict(content.env))
    site.script(scripts.baseline(content.history), writable=content.writable)


def _run_setup(site: Site, command: str, env: dict[str, str]) -> None:
    site.log.write(f"$ {command}\n".encode())
    shell = Command(["sh", "-c", command], scripts.setup_env(site.env, env))
    status = site.box.run(shell, site.log, timeout=site.timeout, say=site.say)
    if status != 0:
        raise SetupFailedError(command, status, tail(site.log_path), site.log_path)


def _by_owner(files: Iterable[TreeFile], tree_owner: int) -> list[tuple[int, list[TreeFile]]]:
    """Group files by who shall own them: the tree's owner, the agent in its home, root elsewhere."""
    groups: dict[int, list[TreeFile]] = {}
    for file in files:
        groups.setdefault(_owner(file.path, tree_owner), []).append(file)
    return list(groups.items())


def _owner(path: str, tree_owner: int) -> int:
    pure = PurePosixPath(path)
    if not pure.is_absolute() or ".." in pure.parts or path.endswith("/"):
        raise DataError(f"The file path {path!r} must be absolute and name a file in the container.")
    if pure.is_relative_to(WORKSPACE):
        return tree_owner
    return AGENT_UID if pure.is_relative_to(HOME) else 0
