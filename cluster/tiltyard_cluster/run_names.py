"""What people call a run: its question, arm, agent and repetition. Its id says nothing to anybody."""

from collections.abc import Collection, Iterable, Sequence

from tiltyard_cluster.layout import Cell
from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.sharding import all_shards, from_file
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.visible import visible

_NAMED = 5
"""How many a message names."""


def label(run: Cell) -> str:
    """A run as people call it: `sum plain guesser #2`."""
    question = f"{run.capability}+{run.question}" if run.capability else run.question
    return visible(f"{question} {run.arm} {run.agent} #{run.rep}", one_line=True)


def label_in(plan: PlanFile, run_id: str) -> str:
    """The same of a plan's run; the id itself where the plan does not hold it."""
    runs = plan.runs
    if run_id not in runs.run_id:
        return visible(run_id)
    n = runs.run_id.index(run_id)
    return label(
        PlannedRun(
            run_id,
            runs.position[n],
            runs.block[n],
            runs.capability[n],
            runs.question[n],
            runs.arm[n],
            runs.agent[n],
            runs.rep[n],
        )
    )


def some(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def missing_words(plan: PlanFile, missing: Collection[str], shards: int) -> str:
    """Which runs of a plan are missing: first the shards of which nothing is there, then what else is.

    Args:
        plan: The plan.
        missing: Ids of runs.
        shards: Into how many parts the plan was cut.
    """
    left, whole = set(missing), []
    runs = from_file(plan)
    for number, part in enumerate(all_shards(runs, shards) if shards > 1 else (), 1):
        ids = {run.run_id for run in part}
        if ids and ids <= left:
            left -= ids
            whole.append(f"shard {number}/{shards}")
    said = [f"{some(whole)} {'is' if len(whole) == 1 else 'are'} missing"] if whole else []
    if left:
        said.append(f"runs are missing: {some(_labels(runs.runs, left))}")
    return "; ".join(said)


def _labels(runs: Iterable[PlannedRun], wanted: Collection[str]) -> list[str]:
    return [label(run) for run in runs if run.run_id in wanted]
