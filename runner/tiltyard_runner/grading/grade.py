"""Grades one run in a pristine container of the same arm image.

The agent's container has ended by then. Its working tree is read from outside as one archive and compared
with git data that the agent never touched; only then do the hidden files appear, and `verify` runs without
network.
"""

import json
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import docker.errors
import requests

from tiltyard_runner.command import CommandPlan, run_command
from tiltyard_runner.container import AGENT_UID, ROOT_UID, WORKSPACE, Container, ContainerPlan, FileToPut
from tiltyard_runner.disk_watch import written
from tiltyard_runner.errors import GradingError
from tiltyard_runner.fetching import fetch_file
from tiltyard_runner.grading.archive import MAX_PATH, TooMuchError, TreeArchive
from tiltyard_runner.grading.steering import steering_files
from tiltyard_runner.job import Job, Place
from tiltyard_runner.setup import run_setup
from tiltyard_specs.record import PatchFact, VerifyResult

_WORK = "/tmp/tiltyard"  # noqa: S108  # a path in the container
_SCRIPT = "/tmp/tiltyard-tree.py"  # noqa: S108
_SCRIPT_SOURCE = Path(__file__).with_name("tree.py")
_OPEN = "bridge"
_KILLED = 137
_ROOM = 4
_REASON = 500
_SHOWN = 200
"""Characters of a path in a warning."""
_FAILURES = (GradingError, docker.errors.DockerException, requests.RequestException)
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
    unusable: str | None = None
    """Why what the agent left cannot be graded, though a tree that nobody touched can."""


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
    try:
        return _grade(place, job, agent, folder)
    except _FAILURES as error:
        if place.stop.is_set() or not job.task.edits or not _untouched_is_graded(place, job, folder):
            raise
        first = error
    # The machine can do it, so once more; what fails again is the tree's fault, and it must excuse no run.
    try:
        return _grade(place, job, agent, folder)
    except _FAILURES:
        if place.stop.is_set() or not _untouched_is_graded(place, job, folder):
            raise
        return Grade(unusable=f"what the agent left cannot be graded: {first}"[:_REASON])


def _grade(place: Place, job: Job, agent: Container, folder: Path) -> Grade:
    with Container(place.client, _pristine(place, job)) as pristine:
        session = _Session(place, job, pristine, folder)
        try:
            return session.run(agent)
        except tarfile.TarError as error:
            raise GradingError(f"a container could not be read: {error}") from error


def _untouched_is_graded(place: Place, job: Job, folder: Path) -> bool:
    """Whether carrying, comparing and adopting succeed with a tree that no agent touched."""
    try:
        with (
            Container(place.client, _pristine(place, job)) as untouched,
            Container(place.client, _pristine(place, job)) as pristine,
        ):
            _Session(place, job, pristine, folder).rehearse(untouched)
    except (*_FAILURES, tarfile.TarError):
        return False
    return True


def _pristine(place: Place, job: Job) -> ContainerPlan:
    return ContainerPlan(
        image=job.image,
        argv=("sleep", "infinity"),
        labels=place.owner.labels(trial=job.identity.trial, role="grader", run=job.identity.run_id),
        # The tree stands here several times over: as it came, in git's objects, in the patch, in its place.
        bounds=replace(job.bounds, disk=_ROOM * job.bounds.disk),
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
        self._pristine.start()
        if job.setup:
            # Before anything of the agent's is here: nothing that it left may fail the arm's setup.
            self._setup()
        self._put_script()
        try:
            patch, tampered = self._brought_and_compared(agent) if job.task.edits else (None, ())
        except _OverrunError as error:
            return Grade(overrun=str(error), warnings=tuple(self._warnings))
        verify = None
        if job.key.verify is not None and not tampered:
            verify = self._verify(job.key.verify)
        return Grade(patch=patch, tampered=tampered, verify=verify, warnings=tuple(self._warnings))

    def rehearse(self, untouched: Container) -> None:
        """All of it but setup and verify, with a tree that is known to be good."""
        self._pristine.start()
        self._put_script()
        try:
            self._bring(untouched)
            self._script("compare", _WORK)
            self._script("adopt", _WORK, *self._job.key.hidden)
        except _OverrunError as error:
            raise GradingError(str(error)) from error

    def _put_script(self) -> None:
        self._pristine.put([FileToPut(_SCRIPT, _SCRIPT_SOURCE.read_bytes(), uid=self._owner)])

    def _setup(self) -> None:
        log = self._folder / "verify.log"
        run_setup(self._pristine, self._job, user=self._owner, log=log, stop=self._place.stop)
        if _setup_network(self._place, self._job) == _OPEN:
            self._pristine.leave_network(_OPEN)

    def _brought_and_compared(self, agent: Container) -> tuple[PatchFact, tuple[str, ...]]:
        self._bring(agent)
        return self._compare()

    def _bring(self, agent: Container) -> None:
        archive = TreeArchive(agent.get_archive(WORKSPACE), folder="tiltyard/new", uid=self._owner)
        try:
            self._pristine.put_archive("/tmp", archive.chunks())  # noqa: S108
        except TooMuchError as error:
            raise _OverrunError(f"disk limit: {error}") from error
        if archive.left_out:
            names = ", ".join(_shortened(_printable(name)) for name in archive.left_out[:5])
            self._warnings.append(
                f"{archive.left_out_count} paths that git cannot hold (fifos, sockets, device files) "
                f"or that are longer than {MAX_PATH} bytes were left out: {names}"
            )
        if archive.deep:
            self._warnings.append(
                "the tree has paths so long that the engine does not read what lies deeper: it was left out"
            )

    def _compare(self) -> tuple[PatchFact, tuple[str, ...]]:
        found = self._script("compare", _WORK)
        patch = fetch_file(self._pristine, f"{_WORK}/patch.diff", self._folder / "patch.diff")
        if patch is None:
            raise GradingError("comparing the trees left no patch in the pristine container")
        touched = [str(name) for name in found["touched"]]
        import pathspec  # noqa: PLC0415  # trials that grade nothing need none of it in memory

        protected = pathspec.GitIgnoreSpec.from_lines(self._job.key.protect)
        tampered = [name for name in [*touched, *found["ignored"]] if protected.match_file(_one_line(name))]
        if self._job.key.verify is not None and (steering := steering_files(touched)):
            named = ", ".join(_shortened(_printable(name)) for name in steering[:10])
            self._warnings.append(f"the agent changed what can steer the tests: {named}")
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
        # What grading itself has put here is not verify's doing.
        disk = job.bounds.disk + max(0, self._pristine.layer_bytes() or 0)
        plan = CommandPlan(command, self._owner, job.trial_env, job.timeout, job.output_limit, disk=disk)
        end = run_command(self._pristine, plan, log=self._folder / "verify.log", stop=self._place.stop)
        if end.stopped:
            raise GradingError("stopped by the user while grading")
        if end.disk_bytes is not None:
            self._warnings.append(
                f"verify was ended at the disk limit: its container held {written(end.disk_bytes)}"
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


def _shortened(name: str) -> str:
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."


def _printable(name: str) -> str:
    """A path as text that any file can hold; bytes that are not UTF-8 are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
