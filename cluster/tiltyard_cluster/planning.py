"""Makes plan files, and trials from them."""

from dataclasses import replace
from pathlib import Path

from tiltyard_cluster.known_secrets import refuse_values
from tiltyard_cluster.launchable import require_launchable
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.resolve import resolve
from tiltyard_cluster.sharding import to_file
from tiltyard_specs import Trial, select
from tiltyard_specs.errors import DataError, UsageError
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.receipt import ShardName


def plan_trial(trial: Trial, options: RunOptions | None = None, *, spec: str, shards: int = 1) -> PlanFile:
    """Lay a trial out as a file that other machines work from. Repos are fetched, and their commits pinned.

    Args:
        trial: What `load_trial` returned, or a selection of it.
        options: How it is to be run; the model script counts.
        spec: Path of the spec from the folder of the file, in its own words.
        shards: Into how many parts it is to be cut.

    Raises:
        DataError: It holds what no run can start with.
    """
    options = options or RunOptions()
    refuse_values(trial, options.environ)
    require_launchable(trial)
    resolved = resolve(trial, options)
    return to_file(
        resolved.plan,
        spec=spec,
        selection=trial.selection,
        commits=resolved.commits,
        script=resolved.script,
        shards=shards,
    )


def planned_trial(trial: Trial, plan: PlanFile) -> Trial:
    """The part of a spec that a plan is of, in the plan's order.

    Args:
        trial: What `load_trial` returned, not narrowed.
        plan: The plan.

    Raises:
        UsageError: The spec no longer has what the plan names.
        DataError: It has another seed.
    """
    chosen, seed = plan.selection, trial.whole.seed
    if seed is not None and seed != plan.seed:
        raise DataError(
            f"the spec has changed since the plan was made: its seed is {seed}, the plan's {plan.seed}; "
            "make a new plan"
        )
    narrowed = select(
        trial, questions=chosen.questions, arms=chosen.arms, agents=chosen.agents, reps=chosen.reps
    )
    # Without a seed in the spec it follows from all of it, the budget and prices as well.
    return replace(narrowed, seed=plan.seed)


def spec_of(plan: PlanFile, path: Path) -> Path:
    """Where the spec of a plan file lies.

    Args:
        plan: The plan.
        path: Its file.
    """
    return path.parent / plan.spec


def require_shard(plan: PlanFile, shard: ShardName | None) -> None:
    """See that a shard is one of those that a plan is cut into.

    Raises:
        UsageError: It is not.
    """
    if shard is not None and plan.shards not in {1, shard.of}:
        raise UsageError(
            f"the plan is cut into {plan.shards} shards, not into {shard.of}: give I/{plan.shards}"
        )
