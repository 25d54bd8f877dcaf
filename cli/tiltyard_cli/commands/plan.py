"""`tiltyard plan`: writes down every run of a trial, for machines that share the work and nothing else."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltyard_cli.counts import plural
from tiltyard_cli.invocation import suggest
from tiltyard_cli.loading import load, warn
from tiltyard_cli.options import Agents, Arms, ModelScript, Questions, Reps, SpecFile

if TYPE_CHECKING:
    from tiltyard_specs.plan_file import PlanFile


def plan(
    spec: SpecFile,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The plan file.")] = Path("plan.json"),
    shards: Annotated[int, typer.Option(min=1, metavar="N", help="Into how many parts it is cut.")] = 1,
    reps: Reps = None,
    question: Questions = None,
    arm: Arms = None,
    agent: Agents = None,
    model_script: ModelScript = None,
) -> None:
    """Write down every run of a trial, with the commits of its repos.

    A shard never splits a block, the runs of one question, agent and repetition over all arms. Each machine
    runs its part with `tiltyard run`, and `tiltyard merge` proves that nothing is missing.
    """
    from tiltyard_specs import select  # noqa: PLC0415

    trial = select(load(spec), questions=question or (), arms=arm or (), agents=agent or (), reps=reps)
    from tiltyard_cluster import RunOptions, plan_trial  # noqa: PLC0415
    from tiltyard_cluster.store import FolderStore  # noqa: PLC0415

    warn(trial, scripted=model_script is not None)
    where = os.path.relpath(spec, out.parent)
    made = plan_trial(trial, RunOptions(model_script=model_script), spec=where, shards=shards)
    FolderStore.create(out.parent).put(out.name, made.to_json().encode())
    _say(made, out)


def _say(made: "PlanFile", out: Path) -> None:
    from tiltyard_cluster.sharding import empty_shards, from_file  # noqa: PLC0415

    whole = from_file(made)
    blocks = len(whole.blocks())
    if empty := empty_shards(whole, made.shards):
        typer.echo(
            f"warning: {empty} of {made.shards} shards are empty: the plan has only {blocks} blocks, "
            "and a block is never split",
            err=True,
        )
    cut = f", cut into {made.shards} shards" if made.shards > 1 else ""
    typer.echo(
        f"{out}: {plural(len(whole.runs), 'run')} in {plural(blocks, 'block')}{cut}; plan {made.plan_id}"
    )
    part = ("--shard", f"1/{made.shards}") if made.shards > 1 else ()
    typer.echo(f"To run it: {suggest('run', out, *part)}")
