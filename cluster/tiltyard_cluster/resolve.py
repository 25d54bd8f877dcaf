"""From a trial to its plan: repos are fetched and their refs become commits."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltyard_cluster.content import script_digest
from tiltyard_cluster.options import RunOptions, cache_folder
from tiltyard_cluster.pinned import require_planned
from tiltyard_cluster.plan import Plan, PlannedRun, arm_repo, make_plan
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.sharding import part_of
from tiltyard_images import Checkout, Repos
from tiltyard_specs import Trial
from tiltyard_specs.receipt import ShardName
from tiltyard_specs.record import RunRecord


@dataclass(frozen=True, slots=True)
class Resolved:
    """A trial with its plan."""

    plan: Plan
    checkouts: Mapping[str | None, Checkout | None]
    """By repo name; None is the empty workspace of questions without a repo."""
    script: str | None = None
    """Digest of the model script, where one answers."""
    planned: bool = False
    """Whether a plan file says which runs there are, so that no other start adds to them."""
    shard: ShardName | None = None
    """The part of it that `plan` is; None for all of it."""

    @property
    def commits(self) -> dict[str, str]:
        """The commit of each repo, by name."""
        return {name: found.commit for name, found in self.checkouts.items() if name and found}


def resolve(trial: Trial, options: RunOptions) -> Resolved:
    """Fetch the repos that the trial uses and lay out its runs; those of a plan file at its commits.

    Raises:
        DataError: The trial is not that of the plan file, or is no longer what it was.
    """
    file = options.plan
    pinned = file.commits if file else {}
    script = script_digest(options.script) if options.script else None
    repos = Repos(cache_folder(options.environ))
    used = {arm_repo(question, arm) for question in trial.spec.questions for arm in trial.spec.arms}
    checkouts: dict[str | None, Checkout | None] = {}
    for name in sorted(used, key=str):
        checkouts[name] = None if name is None else _checkout(trial, repos, name, pinned.get(name))
    commits = {name: found.commit for name, found in checkouts.items() if name and found}
    plan = make_plan(trial, commits, script)
    if file is None:
        return Resolved(plan, checkouts, script)
    require_planned(plan, file, script)
    part = part_of(plan, options.shard)
    return Resolved(part, checkouts, script, planned=True, shard=options.shard if part is not plan else None)


def require_repos(trial: Trial, environ: Mapping[str, str]) -> None:
    """See that every repo of a trial can be read and has its ref.

    Raises:
        RepoError: One does not exist.
    """
    repos = Repos(cache_folder(environ))
    for repo in trial.spec.repos:
        _checkout(trial, repos, repo.name)


def _checkout(trial: Trial, repos: Repos, name: str, commit: str | None = None) -> Checkout:
    repo = trial.repo(name)
    source = str((trial.folder / repo.source).resolve()) if repo.is_local else repo.source
    return repos.checkout(source, commit or repo.ref)


@dataclass(frozen=True, slots=True)
class Progress:
    """Which runs of a plan are done."""

    done: Mapping[str, RunRecord]
    """By run id."""
    left: tuple[PlannedRun, ...]


def progress(plan: Plan, publisher: Publisher, known: Mapping[str, RunRecord] | None = None) -> Progress:
    """Read the records that are there.

    Args:
        plan: The runs.
        publisher: Where their records lie.
        known: Those that were there before: a record is never written again.
    """
    known = known or {}
    there = {**known, **publisher.all_done([run for run in plan.runs if run.run_id not in known])}
    done = {run.run_id: there[run.run_id] for run in plan.runs if run.run_id in there}
    return Progress(done, tuple(run for run in plan.runs if run.run_id not in done))


def without_failed(plan: Plan, before: Progress) -> Progress:
    """What is done when every run whose outcome does not count is open again."""
    done = {run_id: record for run_id, record in before.done.items() if record.outcome.counted}
    return Progress(done, tuple(run for run in plan.runs if run.run_id not in done))


def retire_failed(plan: Plan, before: Progress, publisher: Publisher) -> Progress:
    """Open again every run whose outcome does not count."""
    after = without_failed(plan, before)
    for run in after.left:
        if run.run_id in before.done:
            publisher.retire(run, before.done[run.run_id])
    return after


def default_out(path: Path, shard: ShardName | None = None) -> Path:
    """Where results of a spec go unless told otherwise: beside it, under its name; each shard's apart."""
    part = f"-{shard.index}-of-{shard.of}" if shard else ""
    return path.parent / f"{path.stem}-results{part}"
