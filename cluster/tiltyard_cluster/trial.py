"""Runs a whole trial on this machine: the public `run_trial`, and `preview_trial`, which spends nothing."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import docker.errors
import requests
from filelock import FileLock, Timeout

from tiltyard_cluster.budget import Spending
from tiltyard_cluster.events import AttemptEnded, Note, Planned
from tiltyard_cluster.executor import Executor, OpenRun
from tiltyard_cluster.node import LocalNode
from tiltyard_cluster.options import RunOptions, cache_folder
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.readiness import require_ready
from tiltyard_cluster.reading import read_attempts
from tiltyard_cluster.recovery import recover
from tiltyard_cluster.resolve import Progress, Resolved, progress, resolve, retire_failed, without_failed
from tiltyard_cluster.stopper import Stopper
from tiltyard_cluster.store import FolderStore
from tiltyard_images import connect, sweep_builds
from tiltyard_runner.reaper import reap
from tiltyard_specs import ExitCode, Outcome, RunRecord, Trial
from tiltyard_specs.errors import InterruptedTrialError, UnavailableError

STAGING = ".staging"
_LOCK = ".lock"


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What there is after a start of a trial."""

    out: Path
    plan: Plan
    records: tuple[RunRecord, ...]
    """The settled runs, in the plan's order, those of earlier starts included."""
    stopped: str | None = None
    """Why runs are left, where some are."""
    interrupted: bool = False
    """Whether the user stopped it."""

    @property
    def complete(self) -> bool:
        """Whether every run of the plan is settled."""
        return len(self.records) == len(self.plan.runs)

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How many runs ended in each way."""
        return Counter(record.outcome for record in self.records)

    @property
    def unhealthy(self) -> bool:
        """Whether a setup failed or a treatment was not delivered."""
        return any(outcome.unhealthy for outcome in self.outcomes)

    @property
    def exit_code(self) -> ExitCode:
        """Of `tiltyard run`: wrong answers are results; runs left for want of budget are not."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.OK if self.complete and not self.unhealthy else ExitCode.UNHEALTHY


@dataclass(frozen=True, slots=True)
class Preview:
    """What a start would do."""

    plan: Plan
    progress: Progress


def preview_trial(trial: Trial, out: Path, options: RunOptions | None = None) -> Preview:
    """Lay a trial out and see what is done already, without an engine and without spending anything."""
    options = options or RunOptions()
    resolved = resolve(trial, options)
    there = progress(resolved.plan, Publisher(FolderStore(out), read_only=True))
    if options.retry_failed:
        there = without_failed(resolved.plan, there)
    return Preview(resolved.plan, there)


def run_trial(
    trial: Trial, out: Path | str, options: RunOptions | None = None, stopper: Stopper | None = None
) -> TrialResult:
    """Run what is left of a trial.

    Args:
        trial: What `load_trial` returned, or a selection of it.
        out: The results folder. A run whose record is there is done and is not run again.
        options: How to run this time.
        stopper: Through which a user's interrupt comes.

    Returns:
        All settled runs. Wrong answers, timeouts and failed setups are results, not exceptions.

    Raises:
        UnavailableError: No engine, a missing key, a setting that cannot be enforced, or a folder that is in
            use or not writable.
        DataError: A repo or a record that cannot be read.
        InterruptedTrialError: The user stopped it before the first run.
    """
    stopper = stopper or Stopper()
    try:
        return _Start(trial, Path(out), options or RunOptions(), stopper).run()
    except KeyboardInterrupt:
        if not stopper.asked:
            raise
        raise InterruptedTrialError(
            "interrupted before a run began: nothing was spent, and finished runs are kept"
        ) from None
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise UnavailableError(
            f"the container engine failed: {error}; finished runs are kept: start the trial again to go on"
        ) from error


class _Start:
    def __init__(self, trial: Trial, out: Path, options: RunOptions, stopper: Stopper) -> None:
        self._trial = trial
        self._out = out.absolute()
        self._options = options
        self._stopper = stopper
        self._spending = Spending(trial.spec.budget)
        self._counting = threading.Lock()
        self._stopped: str | None = None

    def run(self) -> TrialResult:
        options = self._options
        require_ready(self._trial, options.environ, model_script=options.script)
        with ExitStack() as stack:
            store = FolderStore.create(self._out)
            stack.enter_context(_only_one(self._out))
            store.remove_leftovers()
            publisher = Publisher(store)
            client = connect()
            if removed := reap(client) + len(sweep_builds(client, cache_folder(options.environ))):
                self._note(f"removed {removed} containers that a killed start had left")
            resolved = resolve(self._trial, self._options)
            before = self._before(resolved, publisher)
            self._options.listen(Planned(len(resolved.plan.runs), tuple(before.done.values())))
            self._stopped = self._budget_spent()
            if before.left and not self._stopped:
                node = LocalNode(client, self._trial, resolved, self._out / STAGING, publisher, self._options)
                self._run_on(node, before.left)
            after = progress(resolved.plan, publisher)
            return self._result(resolved.plan, after)

    def _before(self, resolved: Resolved, publisher: Publisher) -> Progress:
        if kept := recover(self._out / STAGING, self._trial.spec.name, publisher):
            self._note(f"saved {kept} attempts that a killed start had left unfinished")
        before = progress(resolved.plan, publisher)
        if self._options.retry_failed:
            before = retire_failed(resolved.plan, before, publisher)
        for record in (*before.done.values(), *read_attempts(publisher.store, before.done.values())):
            self._spending.add(record)
        return before

    def _run_on(self, node: LocalNode, left: Sequence[PlannedRun]) -> None:
        open_runs = node.prepare(left)
        with node.executor(self._enough) as executor:
            # Attached to the end: an interrupt while slots are taken down must not break that off.
            self._stopper.attach(lambda now: executor.cancel(now=now))
            self._drive(executor, open_runs)

    def _drive(self, executor: Executor, open_runs: Sequence[OpenRun]) -> None:
        for block in _blocks(open_runs):
            executor.submit(block)
        for finished in executor.results():
            self._options.listen(AttemptEnded(finished.record, finished.final))

    def _enough(self, record: RunRecord) -> bool:
        """Count an attempt; whether the budget is spent with it."""
        with self._counting:
            self._spending.add(record)
            self._stopped = self._stopped or self._budget_spent()
            return self._stopped is not None

    def _budget_spent(self) -> str | None:
        spent = self._spending.exhausted()
        return f"the budget is spent: {spent}" if spent else None

    def _result(self, plan: Plan, after: Progress) -> TrialResult:
        records = tuple(after.done[run.run_id] for run in plan.runs if run.run_id in after.done)
        interrupted = self._stopper.asked > 0 and bool(after.left)
        stopped = "stopped by the user" if interrupted else self._stopped
        return TrialResult(self._out, plan, records, stopped if after.left else None, interrupted)

    def _note(self, text: str) -> None:
        self._options.listen(Note(text))


def _blocks(runs: Sequence[OpenRun]) -> list[list[OpenRun]]:
    groups: dict[str, list[OpenRun]] = {}
    for run in runs:
        groups.setdefault(run.planned.block, []).append(run)
    return list(groups.values())


@contextmanager
def _only_one(out: Path) -> Iterator[None]:
    """Keeps every other process away from the results folder."""
    lock = FileLock(out / _LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise UnavailableError(
            f"another tiltyard is running a trial in {out}; wait for it, or choose another folder with --out"
        ) from None
    try:
        yield
    finally:
        lock.release()
