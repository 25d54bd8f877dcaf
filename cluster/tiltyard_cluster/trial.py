"""Runs a whole trial on this machine: the public `run_trial`, and `preview_trial`, which spends nothing."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import docker.errors
import requests

from tiltyard_cluster.addresses import Address, open_store, parse_address
from tiltyard_cluster.budget import Spending, budget_of_part
from tiltyard_cluster.closing import close_result, require_fitting
from tiltyard_cluster.destination import Destination, open_destination
from tiltyard_cluster.disk import disk_trouble
from tiltyard_cluster.estimate import estimate_left
from tiltyard_cluster.estimate_model import Situation
from tiltyard_cluster.estimate_words import short_line, short_of_money
from tiltyard_cluster.events import AttemptEnded, Note, Planned
from tiltyard_cluster.executor import Executor, OpenRun
from tiltyard_cluster.folder import require_results_folder
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
from tiltyard_cluster.store import Store
from tiltyard_cluster.superseded import superseded_note
from tiltyard_cluster.trial_result import Preview, TrialResult
from tiltyard_cluster.uncommitted import uncommitted
from tiltyard_cluster.words import counted
from tiltyard_images import connect, sweep_builds
from tiltyard_runner.reaper import reap
from tiltyard_specs import RunRecord, Trial, warnings
from tiltyard_specs.errors import InterruptedTrialError, UnavailableError

if TYPE_CHECKING:
    from tiltyard_cluster.ray_session import RaySession

_REMOVAL = 20.0
"""Seconds for a leftover that the engine cannot remove: it is left to the next start."""


def preview_trial(trial: Trial, out: Address | str, options: RunOptions | None = None) -> Preview:
    """Lay a trial out and see what is done already, without an engine and without spending anything."""
    options, where = options or RunOptions(), parse_address(out)
    store = open_store(where, options.s3_endpoint)
    if isinstance(where, Path):
        require_results_folder(where)
    require_fitting(store, str(where), options)
    refuse_values(trial, options.environ)
    require_launchable(trial)
    resolved = resolve(trial, options)
    publisher = Publisher(store, read_only=True)
    there = progress(resolved.plan, publisher)
    if options.retry_failed:
        there = without_failed(resolved.plan, there)
    return Preview(resolved.plan, there, superseded_note(publisher))


def run_trial(
    trial: Trial,
    out: Address | str,
    options: RunOptions | None = None,
    stopper: Stopper | None = None,
) -> TrialResult:
    """Run what is left of a trial.

    Args:
        trial: What `load_trial` returned, or a selection of it.
        out: The results folder, or `s3://bucket/prefix`. A run whose record is there is done and is not run
            again.
        options: How to run this time.
        stopper: Through which a user's interrupt comes.

    Returns:
        All settled runs. Wrong answers, timeouts and failed setups are results, not exceptions.

    Raises:
        UsageError: The place for results holds something that is no trial, or another part of a plan.
        UnavailableError: No engine, a missing key, a setting that cannot be enforced, or a folder or store
            that is in use or not writable.
        DataError: A repo or a record that cannot be read, or a spec that is not the plan's.
        InterruptedTrialError: The user stopped it before the first run.
    """
    stopper = stopper or Stopper()
    try:
        return _Start(trial, parse_address(out), options or RunOptions(), stopper).run()
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
    def __init__(self, trial: Trial, out: Address, options: RunOptions, stopper: Stopper) -> None:
        self._trial = budget_of_part(trial, options.plan, options.shard)
        self._out = out.absolute() if isinstance(out, Path) else out
        self._options = options
        self._stopper = stopper
        self._spending = Spending(self._trial.spec.budget)
        self._counting = threading.Lock()
        self._executor: Executor | None = None
        self._lost = False

    def run(self) -> TrialResult:
        options = self._options
        if isinstance(self._out, Path):
            require_results_folder(self._out)
        require_ready(self._trial, options.environ, model_script=options.script)
        require_budget(self._trial, options)
        for warning in (
            *warnings(self._trial, scripted=options.script is not None),
            *uncommitted(self._trial),
        ):
            options.listen(Note(f"warning: {warning}", warning=True))
        with ExitStack() as stack:
            place = stack.enter_context(
                open_destination(self._out, options, tell=self._warn, on_lost=self._on_lost)
            )
            require_fitting(place.store, str(self._out), options)
            publisher = Publisher(place.store)
            client = connect()
            with closing(connect(timeout=_REMOVAL)) as quick:
                removed = reap(quick)
            if removed := removed + len(sweep_builds(client, cache_folder(options.environ))):
                self._note(f"removed {counted(removed, 'container')} that a killed start had left")
            resolved = resolve(self._trial, self._options)
            with disk_trouble(place.home):
                before = self._before(resolved, publisher, place)
            self._options.listen(self._planned(resolved.plan, before))
            if before.left and not self._budget_spent():
                self._estimate(before, publisher)
                node = LocalNode(
                    client, self._trial, resolved, place.staging, publisher, self._options,
                    spent=self._spending.total,
                )  # fmt: skip
                self._run_on(node, before.left, place.store)
            with disk_trouble(place.home):
                after = progress(resolved.plan, publisher, before.done)
                close_result(publisher, self._trial, resolved, options)
            return self._result(resolved.plan, after)

    def _before(self, resolved: Resolved, publisher: Publisher, place: Destination) -> Progress:
        secrets = known_secrets(self._trial, self._options.environ)
        if kept := recover(place.staging, self._trial.spec.name, publisher, secrets):
            self._note(f"saved {counted(kept, 'attempt')} that a killed start had left unfinished")
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

    def _run_on(self, node: LocalNode, left: Sequence[PlannedRun], store: Store) -> None:
        with ExitStack() as stack:
            # A cluster that cannot be reached is told of before images are built.
            session = self._cluster(stack)
            open_runs = node.prepare(left)
            executor: Executor = stack.enter_context(
                node.executor(self._enough)
                if session is None
                else self._cluster_executor(session, node, open_runs, store)
            )
            self._executor = executor
            # Attached to the end: an interrupt while slots are taken down must not break that off.
            self._stopper.attach(lambda now: executor.cancel(now=now))
            self._drive(executor, open_runs)
        if self._lost:
            raise UnavailableError(
                f"another tiltyard has taken {self._out} over, because this one was not heard of for long; "
                "finished runs are kept: start again when that one has ended"
            )

    def _cluster(self, stack: ExitStack) -> "RaySession | None":
        if self._options.cluster is None:
            return None
        from tiltyard_cluster.ray_cluster import open_cluster, parse_cluster, tell_nodes  # noqa: PLC0415

        session = stack.enter_context(open_cluster(parse_cluster(self._options.cluster)))
        tell_nodes(session, self._options)
        return session

    def _cluster_executor(
        self, session: "RaySession", node: LocalNode, runs: Sequence[OpenRun], store: Store
    ) -> "AbstractContextManager[Executor]":
        from tiltyard_cluster.ray_cluster import ClusterWork, cluster_executor  # noqa: PLC0415

        work = ClusterWork(
            self._trial, store, str(self._out), self._options, node.forwarder().id, self._spending.total
        )
        return cluster_executor(session, work, runs, self._enough)

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
        return self._spending.exhausted()

    def _result(self, plan: Plan, after: Progress) -> TrialResult:
        records = tuple(after.done[run.run_id] for run in plan.runs if run.run_id in after.done)
        interrupted = self._stopper.asked > 0 and bool(after.left)
        # Asked for anew: runs that were under way when the budget was spent have spent more.
        over = self._budget_spent() if after.left and not interrupted else None
        unpriced = self._spending.unpriced if after.left else None
        return TrialResult(
            self._out,
            plan,
            records,
            "stopped by the user" if interrupted else over or unpriced,
            interrupted=interrupted,
            over_budget=over is not None,
            spent=self._spending.total,
            scripted=self._options.script is not None,
        )

    def _on_lost(self) -> None:
        self._lost = True
        if self._executor is not None:
            self._executor.cancel(now=True)

    def _note(self, text: str) -> None:
        self._options.listen(Note(text))

    def _warn(self, text: str) -> None:
        self._options.listen(Note(text, warning=True))


def _blocks(runs: Sequence[OpenRun]) -> list[list[OpenRun]]:
    groups: dict[str, list[OpenRun]] = {}
    for run in runs:
        groups.setdefault(run.planned.block, []).append(run)
    return list(groups.values())
