"""The worker of one node: a Ray actor that runs attempts and publishes them itself.

Only records travel back to the driver. Imports nothing of Ray: it is made an actor where it is started.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal

import docker.errors
import requests

from tiltyard_cluster.arm_images import tool_versions
from tiltyard_cluster.disk import require_room
from tiltyard_cluster.engine_watch import await_engine
from tiltyard_cluster.executor import OpenRun
from tiltyard_cluster.node_images import ImageSource, lacking, require_platform
from tiltyard_cluster.shared_publisher import SharedPublisher
from tiltyard_cluster.staging import begin
from tiltyard_cluster.store import FolderStore
from tiltyard_cluster.stripped_jobs import KeyFiller
from tiltyard_cluster.workplace import Workplace, WorkSetup
from tiltyard_images import give_names
from tiltyard_runner.attempt import execute
from tiltyard_runner.job import Job
from tiltyard_specs import missing_keys
from tiltyard_specs.errors import DataError, TiltyardError, UnavailableError, UsageError
from tiltyard_specs.outcomes import Outcome

MOST_SLOTS = 128
"""On one node."""
_UNSETTLED = frozenset({Outcome.INFRA, Outcome.CANCELLED})
_MEMORY_SHARE = 0.8

Ending = Literal["settled", "known", "beaten", "failed", "cancelled", "taken"]
"""settled: the run has this attempt's record; known: it had one before, and nothing was run; beaten: another
attempt settled it meanwhile; taken: the attempt's number was used before, and nothing was run."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A node that can run attempts."""

    slots: int
    recovered: tuple[str, ...]
    """Records, as JSON, of attempts that a killed worker had left there."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """A node that is ready but for images."""

    images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """What an attempt came to."""

    ending: Ending
    record: str | None = None
    """As JSON: this attempt's; for `known` the one that settled the run."""
    trouble: str | None = None
    """Why the node can run nothing further, if so."""


class WrongTrialError(DataError):
    """No node can run this: it is not the node's fault."""


class NodeWorker:
    """Runs attempts on its node, several at once, each in the slot that the driver names.

    Args:
        setup: What the node is told.
        proof: A key and the object that the driver has put there: who reads it sees the same results.
        tiltyard: The driver's version; a node with another one would write other records.
    """

    def __init__(self, setup: WorkSetup, proof: tuple[str, bytes], tiltyard: str) -> None:
        self._setup = setup
        self._proof = proof
        self._tiltyard = tiltyard
        self._keys = KeyFiller(setup.trial, dict(os.environ), scripted=setup.script is not None)
        self._workplace = Workplace(setup, self._keys)
        self._publisher = SharedPublisher(setup.store)
        self._stack = ExitStack()
        self._versions: dict[str, str] = {}

    def prepare(self) -> "Ready | Lacking":
        """Make the node ready, as far as its engine has the images.

        Raises:
            UnavailableError: It lacks something; the sentence says what.
        """
        with _plain_errors():
            self._require_same()
            if isinstance(self._publisher.store, FolderStore):
                self._publisher.store.hold()
            self._require_keys()
            self._stack.enter_context(self._workplace)
            missing = lacking(self._workplace.client, self._setup.images)
            return Lacking(missing) if missing else self._ready()

    def load(self, source: ImageSource) -> Ready:
        """Get the images that the node lacks.

        Raises:
            UnavailableError: It still lacks some.
        """
        with _plain_errors():
            work = self._workplace
            wanted = lacking(work.client, self._setup.images)
            source.give(work.client, wanted, self._publisher.store, work.staging.parent)
            if missing := lacking(work.client, self._setup.images):
                raise UnavailableError(f"its engine gave {len(missing)} images other ids than ours has")
            give_names(work.client, wanted)
            return self._ready()

    def attempt(self, slot: int, run: OpenRun, attempt: int, *, last: bool) -> AttemptEnd:
        """Run one attempt and publish it.

        Raises:
            WrongTrialError: The task itself is wrong.
            UnavailableError: The node cannot go on.
        """
        planned = run.planned
        with _plain_errors():
            if (settled := self._publisher.settled(planned)) is not None:
                return AttemptEnd("known", settled.to_json())
            if not self._publisher.claim(planned, attempt, self._setup.node):
                return AttemptEnd("taken")
            return self._run(slot, run, attempt, last=last)

    def waited(self, slot: int) -> float:
        """For how many seconds calls of the run in a slot were held back so far."""
        with suppress(UsageError):
            return self._workplace.gateway.waited(str(slot))
        return 0.0

    def stop(self) -> None:
        """End the attempts that are under way."""
        self._workplace.stop.set()

    def close(self) -> None:
        """Take everything away again."""
        self._stack.close()

    def _ready(self) -> Ready:
        require_platform(self._workplace.client, self._setup.images)
        self._versions = tool_versions(f"docker {self._workplace.client.version()['Version']}")
        recovered = tuple(record.to_json() for record in self._workplace.recovered)
        return Ready(self._slots(self._workplace.client.info()), recovered)

    def _run(self, slot: int, run: OpenRun, attempt: int, *, last: bool) -> AttemptEnd:
        work = self._workplace
        require_room(work.staging)
        place = work.place(slot)
        folder = begin(work.staging, run.planned, attempt).folder
        work.under_way(slot, attempt_name(run.planned.run_id, attempt))
        try:
            record = execute(self._job(run), attempt, place, folder)
        finally:
            work.under_way(slot, None)
        lost = record.outcome is Outcome.INFRA
        gone = await_engine(work.client, work.stop) if lost else None
        ending: Ending = "cancelled" if record.outcome is Outcome.CANCELLED else "failed"
        if record.outcome not in _UNSETTLED or (last and lost and gone is None):
            ending = "settled" if self._publisher.settle(run.planned, record, folder) else "beaten"
        else:
            self._publisher.earlier(run.planned, record, folder)
        shutil.rmtree(folder)
        return AttemptEnd(ending, record.to_json(), None if gone is None else str(gone))

    def _job(self, run: OpenRun) -> Job:
        """The run's job, with the keys and the versions of this node."""
        job = self._keys.job(run)
        return replace(job, versions={**job.versions, **self._versions})

    def _slots(self, info: Mapping[str, Any]) -> int:
        limits = self._setup.trial.spec.limits
        wanted = self._setup.parallel or self._setup.trial.spec.defaults.parallel or MOST_SLOTS
        cpus, memory = info["NCPU"], info["MemTotal"]
        fits = int(min(cpus / limits.cpus, memory * _MEMORY_SHARE / limits.memory))
        if cpus < limits.cpus:
            raise UnavailableError(f"limits.cpus is {limits.cpus:g}, but its engine has {cpus:g}")
        return max(1, min(wanted, fits, MOST_SLOTS))

    def _require_same(self) -> None:
        if (here := version("tiltyard")) != self._tiltyard:
            raise UnavailableError(f"it has Tiltyard {here}, and the driver has {self._tiltyard}")
        key, data = self._proof
        if self._publisher.store.get(key) == data:
            return
        if isinstance(self._publisher.store, FolderStore):
            raise UnavailableError(
                f"it does not see the results folder {self._publisher.store.root}: name one that all nodes "
                "share, or results in S3 (--out s3://bucket/prefix)"
            )
        raise UnavailableError(f"it does not see the results at {self._publisher.store}")

    def _require_keys(self) -> None:
        if self._setup.script is not None:
            return
        if problems := missing_keys(self._setup.trial, dict(os.environ)):
            raise UnavailableError("; ".join(problem.message for problem in problems))


def attempt_name(run_id: str, attempt: int) -> str:
    """What reports of spend call an attempt."""
    return f"{run_id}.{attempt}"


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Errors on their way to the driver: of two sorts, and of nothing but a sentence."""
    try:
        yield
    except (DataError, UsageError) as error:
        raise WrongTrialError(str(error)) from None
    except TiltyardError as error:
        raise UnavailableError(str(error)) from None
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise UnavailableError(f"its container engine failed: {error}") from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise UnavailableError(f"{where}{error.strerror or error}") from None
