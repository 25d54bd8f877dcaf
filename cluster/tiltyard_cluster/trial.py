"""Runs a whole trial on this machine: the public `run_trial`, and `preview_trial`, which spends nothing."""

import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import docker.errors
import requests

from tiltyard_cluster.budget import Spending, Spent
from tiltyard_cluster.disk import disk_trouble
from tiltyard_cluster.estimate import estimate_left
from tiltyard_cluster.estimate_model import Situation
from tiltyard_cluster.estimate_words import short_line, short_of_money
from tiltyard_cluster.events import AttemptEnded, Note, Planned
from tiltyard_cluster.executor import Executor, OpenRun
from tiltyard_cluster.folder import only_one, require_results_folder
from tiltyard_cluster.health import alarms, unhealthy_because
from tiltyard_cluster.known_secrets import known_secrets, refuse_values
from tiltyard_cluster.launchable import require_launchable
from tiltyard_cluster.node import LocalNode
from tiltyard_cluster.options import RunOptions, cache_folder
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.readiness import require_budget, require_ready
from tiltyard_cluster.reading import read_attempts
from tiltyard_cluster.recovery import recover
from tiltyard_cluster.resolve import Progress, Resolved, progress, resolve, retire_failed, without_failed
from tiltyard_cluster.stopper import Stopper
from tiltyard_cluster.store import FolderStore
from tiltyard_cluster.superseded import superseded_note
from tiltyard_images import connect, sweep_builds
from tiltyard_runner.reaper import reap
from tiltyard_specs import ExitCode, Outcome, RunRecord, Trial, warnings
from tiltyard_specs.errors import InterruptedTrialError, UnavailableError

STAGING = ".staging"
_REMOVAL = 20.0
"""Seconds for a leftover that the engine cannot remove: it is left to the next start."""


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
    over_budget: bool = False
    """Whether it stopped because its budget is spent: only a larger one lets it go on."""
    spent: Spent = field(default_factory=Spent)
    """What all starts together have spent."""
    scripted: bool = False
    """Whether a script answered model calls, so that nothing was paid."""

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
        """Whether a setup failed, a treatment was not delivered, or too many runs were lost."""
        return bool(self.unhealthy_because)

    @property
    def unhealthy_because(self) -> tuple[str, ...]:
        """One sentence for each reason."""
        return unhealthy_because(self.records)

    @property
    def alarms(self) -> tuple[str, ...]:
        """What looks like a broken command, one sentence each; the trial may be healthy all the same."""
        return alarms(self.records)

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
    superseded: str | None = None
    """What would be set aside because the spec has changed, in words."""


def preview_trial(trial: Trial, out: Path | str, options: RunOptions | None = None) -> Preview:
    """Lay a trial out and see what is done already, without an engine and without spending anything."""
    options, out = options or RunOptions(), Path(out)
    require_results_folder(out)
    refuse_values(trial, options.environ)
    require_launchable(trial)
    resolved = resolve(trial, options)
    publisher = Publisher(FolderStore(out), read_only=True)
    there = progress(resolved.plan, publisher)
    if options.retry_failed:
        there = without_failed(resolved.plan, there)
    return Preview(resolved.plan, there, superseded_note(publisher))


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
        UsageError: The results folder holds something that is no trial.
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
            "interrupted before a run began: nothing was spent; finished runs and images are kept"
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

    def run(self) -> TrialResult:
        options = self._options
        require_results_folder(self._out)
        require_ready(self._trial, options.environ, model_script=options.script)
        require_budget(self._trial, options)
        for warning in warnings(self._trial, scripted=options.script is not None):
            options.listen(Note(f"warning: {warning}", warning=True))
        with ExitStack() as stack:
            store = FolderStore.create(self._out)
            stack.enter_context(only_one(self._out))
            store.remove_leftovers()
            publisher = Publisher(store)
            client = connect()
            with closing(connect(timeout=_REMOVAL)) as quick:
                removed = reap(quick)
            if removed := removed + len(sweep_builds(client, cache_folder(options.environ))):
                self._note(f"removed {removed} containers that a killed start had left")
            resolved = resolve(self._trial, self._options)
            with disk_trouble(self._out):
                before = self._before(resolved, publisher)
            self._options.listen(self._planned(resolved.plan, before))
            if before.left and not self._budget_spent():
                self._estimate(before, publisher)
                node = LocalNode(
                    client, self._trial, resolved, self._out / STAGING, publisher, self._options,
                    spent=self._spending.total,
                )  # fmt: skip
                self._run_on(node, before.left)
            with disk_trouble(self._out):
                after = progress(resolved.plan, publisher)
            return self._result(resolved.plan, after)

    def _before(self, resolved: Resolved, publisher: Publisher) -> Progress:
        secrets = known_secrets(self._trial, self._options.environ)
        if kept := recover(self._out / STAGING, self._trial.spec.name, publisher, secrets):
            self._note(f"saved {kept} attempts that a killed start had left unfinished")
        before = progress(resolved.plan, publisher)
        if note := superseded_note(publisher):
            self._note(note)
        if self._options.retry_failed:
            before = retire_failed(resolved.plan, before, publisher)
        for record in (*before.done.values(), *read_attempts(publisher.store, before.done.values())):
            self._spending.add(record)
        return before

    def _planned(self, plan: Plan, before: Progress) -> Planned:
        done, scripted = tuple(before.done.values()), self._options.script is not None
        return Planned(len(plan.runs), done, self._spending.total, scripted=scripted)

    def _estimate(self, before: Progress, publisher: Publisher) -> None:
        """Say in one line what the runs may cost, before the first of them."""
        now = Situation(len(before.done), self._spending.total, scripted=self._options.script is not None)
        found = estimate_left(self._trial, publisher, before.left, now, name=str(self._out))
        self._options.listen(Note(short_line(found), warning=short_of_money(found)))

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
            self._spending.end(record)
            return self._budget_spent() is not None

    def _budget_spent(self) -> str | None:
        spent = self._spending.exhausted()
        return f"the budget is spent: {spent}" if spent else None

    def _result(self, plan: Plan, after: Progress) -> TrialResult:
        records = tuple(after.done[run.run_id] for run in plan.runs if run.run_id in after.done)
        interrupted = self._stopper.asked > 0 and bool(after.left)
        # Asked for anew: runs that were under way when the budget was spent have spent more.
        over = self._budget_spent() if after.left and not interrupted else None
        return TrialResult(
            self._out,
            plan,
            records,
            "stopped by the user" if interrupted else over,
            interrupted=interrupted,
            over_budget=over is not None,
            spent=self._spending.total,
            scripted=self._options.script is not None,
        )

    def _note(self, text: str) -> None:
        self._options.listen(Note(text))


def _blocks(runs: Sequence[OpenRun]) -> list[list[OpenRun]]:
    groups: dict[str, list[OpenRun]] = {}
    for run in runs:
        groups.setdefault(run.planned.block, []).append(run)
    return list(groups.values())
