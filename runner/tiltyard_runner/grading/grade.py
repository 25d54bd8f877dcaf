"""Grades one run in a pristine container of the same arm image.

The agent's container has ended by then. Its working tree is read from outside as one archive and compared
with git data that the agent never touched; only then do the hidden files appear, and `verify` runs without
network.
"""

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pathspec

from tiltyard_runner.command import CommandPlan, run_command
from tiltyard_runner.container import AGENT_UID, ROOT_UID, WORKSPACE, Container, ContainerPlan, FileToPut
from tiltyard_runner.errors import GradingError
from tiltyard_runner.fetching import fetch_file
from tiltyard_runner.grading.archive import TreeArchive
from tiltyard_runner.job import Job, Place
from tiltyard_runner.setup import run_setup
from tiltyard_specs.record import PatchFact, VerifyResult

_WORK = "/tmp/tiltyard"  # noqa: S108  # a path in the container
_SCRIPT = "/tmp/tiltyard-tree.py"  # noqa: S108
_SCRIPT_SOURCE = Path(__file__).with_name("tree.py")
_OPEN = "bridge"
_KILLED = 137
_COMPARE_SECONDS = 600.0
"""How long the comparison may take at least, however short the run's own timeout."""


class _OverrunError(Exception):
    """The agent left more than its own limits allow to compare."""


@dataclass(frozen=True, slots=True)
class Grade:
    """What grading found."""

    patch: PatchFact | None = None
    tampered: tuple[str, ...] = ()
    verify: VerifyResult | None = None
    warnings: tuple[str, ...] = ()
    overrun: str | None = None
    """Why what the agent left is more than can be compared within the run's own limits."""


def tree_owner(job: Job) -> int:
    """Who owns the working tree, and so runs setup and verify: with edits off a root without capabilities."""
    return AGENT_UID if job.task.edits else ROOT_UID


def grade(place: Place, job: Job, agent: Container, folder: Path) -> Grade:
    """Compare, check protected paths, verify.

    Args:
        place: Where it happens.
        job: The run.
        agent: The agent's container, ended and not yet removed.
        folder: Gets patch.diff and verify.log.

    Raises:
        GradingError: The pristine container could not do its part; never the agent's doing.
    """
    with Container(place.client, _pristine(place, job)) as pristine:
        session = _Session(place, job, pristine, folder)
        try:
            return session.run(agent)
        except tarfile.TarError as error:
            raise GradingError(f"a container could not be read: {error}") from error


def _pristine(place: Place, job: Job) -> ContainerPlan:
    return ContainerPlan(
        image=job.image,
        argv=("sleep", "infinity"),
        labels=place.owner.labels(trial=job.identity.trial, role="grader", run=job.identity.run_id),
        bounds=job.bounds,
        user=ROOT_UID,
        network=_setup_network(place, job),
    )


def _setup_network(place: Place, job: Job) -> str:
    """Setup gets here the network that it had in the run; verify never has one."""
    return _OPEN if job.setup and not place.slot.sealed else "none"


class _Session:
    def __init__(self, place: Place, job: Job, pristine: Container, folder: Path) -> None:
        self._place = place
        self._job = job
        self._pristine = pristine
        self._folder = folder
        self._owner = tree_owner(job)
        self._warnings: list[str] = []

    def run(self, agent: Container) -> Grade:
        """All steps, in order."""
        job = self._job
        self._pristine.put([FileToPut(_SCRIPT, _SCRIPT_SOURCE.read_bytes(), uid=self._owner)])
        if job.task.edits:
            self._bring(agent)
        self._pristine.start()
        if job.setup:
            self._setup()
        try:
            patch, tampered = self._compare() if job.task.edits else (None, ())
        except _OverrunError as error:
            return Grade(overrun=str(error), warnings=tuple(self._warnings))
        verify = None
        if job.key.verify is not None and not tampered:
            verify = self._verify(job.key.verify)
        return Grade(patch=patch, tampered=tampered, verify=verify, warnings=tuple(self._warnings))

    def _setup(self) -> None:
        log = self._folder / "verify.log"
        run_setup(self._pristine, self._job, user=self._owner, log=log, stop=self._place.stop)
        if _setup_network(self._place, self._job) == _OPEN:
            self._pristine.leave_network(_OPEN)

    def _bring(self, agent: Container) -> None:
        archive = TreeArchive(agent.get_archive(WORKSPACE), folder="tiltyard/new", uid=self._owner)
        self._pristine.put_archive("/tmp", archive.chunks())  # noqa: S108
        if archive.left_out:
            names = ", ".join(_printable(name) for name in archive.left_out[:5])
            self._warnings.append(
                f"{len(archive.left_out)} paths that git cannot hold (fifos, sockets, device files) "
                f"were left out: {names}"
            )

    def _compare(self) -> tuple[PatchFact, tuple[str, ...]]:
        found = self._script("compare", _WORK)
        patch = fetch_file(self._pristine, f"{_WORK}/patch.diff", self._folder / "patch.diff")
        if patch is None:
            raise GradingError("comparing the trees left no patch in the pristine container")
        touched = [str(name) for name in found["touched"]]
        protected = pathspec.GitIgnoreSpec.from_lines(self._job.key.protect)
        tampered = [name for name in [*touched, *found["ignored"]] if protected.match_file(_one_line(name))]
        fact = PatchFact(
            files=tuple(_printable(name) for name in touched), bytes=patch.bytes, sha256=patch.sha256
        )
        return fact, tuple(_printable(name) for name in tampered)

    def _script(self, *arguments: str) -> Any:
        argv = ["timeout", "--signal=KILL", f"{self._patience():.0f}", "python3", "-I", _SCRIPT, *arguments]
        code, output = self._pristine.run(argv, user=self._owner, workdir="/").output()
        text = output.decode(errors="replace")
        if code == 0:
            return json.loads(text)
        if self._was_out_of_memory():
            raise _OverrunError("memory limit: what the agent left is too big to be compared")
        if code == _KILLED:
            raise _OverrunError(f"what the agent left could not be compared within {self._patience():.0f} s")
        raise GradingError(f"comparing the trees failed with exit code {code}: {text.strip()[-500:]}")

    def _was_out_of_memory(self) -> bool:
        # The engine says so only of a container that has ended.
        self._pristine.end()
        return self._pristine.state().oom_killed

    def _patience(self) -> float:
        return max(self._job.timeout, _COMPARE_SECONDS)

    def _verify(self, command: str) -> VerifyResult:
        job = self._job
        hidden = job.key.hidden
        self._script("adopt", _WORK, *hidden)
        self._pristine.put(
            FileToPut(f"{WORKSPACE}/{path}", body, uid=self._owner) for path, body in hidden.items()
        )
        plan = CommandPlan(
            command, self._owner, job.trial_env, job.timeout, job.output_limit, disk=job.bounds.disk
        )
        end = run_command(self._pristine, plan, log=self._folder / "verify.log", stop=self._place.stop)
        if end.stopped:
            raise GradingError("stopped by the user while grading")
        if end.disk_bytes is not None:
            self._warnings.append(
                f"verify was ended at the disk limit: it had written {end.disk_bytes} bytes"
            )
        if end.exit_code not in {0, None} and self._was_out_of_memory():
            self._warnings.append("the kernel ended a process of verify at the memory limit")
        return VerifyResult(
            command=command,
            exit_code=end.exit_code,
            passed=end.exit_code == 0,
            seconds=round(end.seconds, 3),
            timed_out=end.timed_out,
        )


def _one_line(name: str) -> str:
    """The path for matching: in the patterns' regular expressions a dot does not match a line break."""
    return name.replace("\n", "_").replace("\r", "_")


def _printable(name: str) -> str:
    """A path as text that any file can hold; bytes that are not UTF-8 are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
