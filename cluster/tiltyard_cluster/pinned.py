"""Whether a spec still is what a plan file says: its runs are bound to what it said then."""

from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.sharding import from_file
from tiltyard_specs.errors import DataError
from tiltyard_specs.plan_file import PlanFile


def require_planned(made: Plan, file: PlanFile, script: str | None) -> None:
    """See that a plan made now is the one that was written down.

    Args:
        made: From the spec as it is, at the plan file's commits.
        file: What was written down.
        script: Digest of the model script of this start.

    Raises:
        DataError: It is not; the sentence says why.
    """
    if made.trial != file.trial:
        raise DataError(
            f"the plan is of trial {file.trial}, and the spec is of trial {made.trial}: "
            "give the spec that the plan was made from"
        )
    if script != file.script:
        raise DataError(_other_script(file, script))
    if made.plan_id != file.plan_id:
        raise DataError(f"the spec has changed since the plan was made: {_differences(made, file)}")


def _other_script(file: PlanFile, script: str | None) -> str:
    if script is None:
        return "the plan was made with a model script: give the same one with --model-script"
    if file.script is None:
        return "the plan was made without a model script: leave --model-script out, or make a new plan"
    return "the plan was made with another model script: give that one, or make a new plan"


def _differences(made: Plan, file: PlanFile) -> str:
    before = from_file(file)
    old, new = _by_id(before), _by_id(made)
    gone = [run for run in before.runs if run.run_id not in new]
    added = [run for run in made.runs if run.run_id not in old]
    if not gone and not added:
        return "the seed, or the order of the runs, is another one; make a new plan"
    run = (gone or added)[0]
    count = max(len(gone), len(added))
    label = f"{run.question} {run.arm} {run.agent} #{run.rep}"
    return f"{count} of {len(before.runs)} runs differ, such as {label}; make a new plan"


def _by_id(plan: Plan) -> dict[str, PlannedRun]:
    return {run.run_id: run for run in plan.runs}
