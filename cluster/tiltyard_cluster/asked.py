"""Which runs have been asked for, over all starts that named a part of the spec."""

from dataclasses import replace

from tiltyard_cluster.plan import Plan, make_plan, plan_of
from tiltyard_cluster.resolve import Resolved
from tiltyard_specs import Trial, TrialReceipt
from tiltyard_specs.variants import expand

_UNRESOLVED = "unresolved"


def asked_for(trial: Trial, resolved: Resolved, earlier: TrialReceipt | None) -> Plan:
    """The plan of this start, and of earlier starts what still stands in the spec.

    Args:
        trial: The trial, with the selection of this start.
        resolved: Its plan and repos.
        earlier: The receipt of the start before.
    """
    if resolved.planned or earlier is None or not set(earlier.order) - _ids(resolved.plan):
        return resolved.plan
    commits = (
        {repo.name: _UNRESOLVED for repo in trial.whole.repos}
        | {name: repo.commit for name, repo in earlier.repos.items()}
        | resolved.commits
    )
    whole = make_plan(_whole(trial, earlier.selection.reps or 0), commits, resolved.script)
    asked = _ids(resolved.plan) | set(earlier.order)
    return plan_of(trial, [run for run in whole.runs if run.run_id in asked])


def _ids(plan: Plan) -> set[str]:
    return {run.run_id for run in plan.runs}


def _whole(trial: Trial, earlier_reps: int) -> Trial:
    """The trial without a selection, with as many repetitions as were ever asked for."""
    spec = trial.whole
    reps = max(spec.defaults.reps, trial.spec.defaults.reps, earlier_reps)
    whole = spec.model_copy(update={"defaults": spec.defaults.model_copy(update={"reps": reps})})
    return replace(trial, spec=whole, agents=tuple(v for agent in spec.agents for v in expand(agent)))
