"""Cuts a plan into shards, and turns plans into files and back.

A shard is a stretch of whole blocks. Which one follows from the plan and the number of shards alone, so that
machines that share nothing agree on it.
"""

from dataclasses import replace
from itertools import pairwise

from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_specs.plan_file import PlanColumns, PlanFile
from tiltyard_specs.receipt import Selection, ShardName


def shard_runs(plan: Plan, name: ShardName) -> tuple[PlannedRun, ...]:
    """The runs of a shard, in order. The shards of a plan differ by at most one block.

    A plan with fewer blocks than shards has empty ones.
    """
    return all_shards(plan, name.of)[name.index - 1]


def all_shards(plan: Plan, shards: int) -> list[tuple[PlannedRun, ...]]:
    """The runs of every shard, in order."""
    blocks = plan.blocks()
    ends = [len(blocks) * number // shards for number in range(shards + 1)]
    return [tuple(run for block in blocks[first:last] for run in block) for first, last in pairwise(ends)]


def part_of(plan: Plan, name: ShardName | None) -> Plan:
    """A shard as a plan of its own with the id of the whole; the plan itself where it is not cut."""
    return plan if name is None or name.of == 1 else replace(plan, runs=shard_runs(plan, name))


def empty_shards(plan: Plan, shards: int) -> int:
    """How many of the shards get no block."""
    return max(0, shards - len(plan.blocks()))


def to_file(
    plan: Plan, *, spec: str, selection: Selection, commits: dict[str, str], script: str | None, shards: int
) -> PlanFile:
    """A plan as it is written down."""
    runs = plan.runs
    return PlanFile(
        plan_id=plan.plan_id,
        trial=plan.trial,
        seed=plan.seed,
        spec=spec,
        selection=selection,
        commits=commits,
        script=script,
        shards=shards,
        runs=PlanColumns(
            run_id=tuple(run.run_id for run in runs),
            block=tuple(run.block for run in runs),
            capability=tuple(run.capability for run in runs),
            question=tuple(run.question for run in runs),
            arm=tuple(run.arm for run in runs),
            agent=tuple(run.agent for run in runs),
            rep=tuple(run.rep for run in runs),
            position=tuple(run.position for run in runs),
        ),
    )


def from_file(file: PlanFile) -> Plan:
    """A plan as it was written down."""
    columns = file.runs
    runs = zip(
        columns.run_id,
        columns.position,
        columns.block,
        columns.capability,
        columns.question,
        columns.arm,
        columns.agent,
        columns.rep,
        strict=True,
    )
    return Plan(file.plan_id, file.trial, file.seed, tuple(PlannedRun(*run) for run in runs))
