"""`tiltyard run`: runs what is left of a trial."""

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltyard_cli.asked import ask
from tiltyard_cli.closing import closing
from tiltyard_cli.counts import plural
from tiltyard_cli.estimating import show_estimate
from tiltyard_cli.invocation import again
from tiltyard_cli.loading import warn
from tiltyard_cli.options import Agents, Arms, ModelScript, Questions, Registry, Reps, S3Endpoint

if TYPE_CHECKING:
    from tiltyard_cluster import Preview, RunOptions, TrialResult
    from tiltyard_specs import Trial


def run(  # noqa: PLR0913  # one parameter for each option
    spec: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC", help="The trial: a YAML, TOML or JSON file, or a plan of one.", show_default=False
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DEST",
            help="Results folder or s3://bucket/prefix; default: SPEC's name with -results, beside it.",
        ),
    ] = None,
    *,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run what this plan says, at its commits.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Run this part of the plan, such as 2/5.")
    ] = None,
    s3_endpoint: S3Endpoint = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="CLUSTER",
            help="Run on a Ray cluster: HOST:PORT, auto, or local[:N] for N nodes on this machine.",
        ),
    ] = None,
    registry: Registry = None,
    reps: Reps = None,
    question: Questions = None,
    arm: Arms = None,
    agent: Agents = None,
    parallel: Annotated[int | None, typer.Option(min=1, metavar="N", help="Runs at once.")] = None,
    model_script: ModelScript = None,
    prior: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="RESULTS", help="With --estimate: earlier results; may be repeated."),
    ] = None,
    price_per_mtok: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="N", help="With --estimate: USD per million tokens where no price is known."
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Do runs again that ended without counting, such as infra.")
    ] = False,
    no_budget: Annotated[
        bool, typer.Option("--no-budget", help="Run paid models though the spec has no budget.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run, and run nothing.")] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what it would cost, from earlier runs; run nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --estimate: as JSON.")] = False,
) -> None:
    """Run a trial; started again, it goes on where it stopped.

    A run is done when its record stands in the results folder; it is never run twice. Wrong answers are
    results: the exit code is 0 when every run is recorded, and 3 when a setup failed, a treatment was not
    delivered, more than 5% of the runs were lost (infra, unmetered), or the budget left runs over.
    """
    from tiltyard_specs import Selection, UsageError  # noqa: PLC0415

    _require_sense(out, price_per_mtok, estimate=estimate, dry_run=dry_run)
    if not estimate and (prior or price_per_mtok is not None or as_json):
        raise UsageError("--from, --price-per-mtok and --json need --estimate")
    selection = Selection(
        questions=tuple(question or ()), arms=tuple(arm or ()), agents=tuple(agent or ()), reps=reps
    )
    asked = ask(spec, plan, shard, selection)
    trial = asked.trial
    # Only a right spec needs what takes long to load.
    from tiltyard_cluster import RunOptions, preview_trial  # noqa: PLC0415
    from tiltyard_cluster.resolve import default_out  # noqa: PLC0415

    if cluster is not None:
        from tiltyard_cluster.image_registry import named_registry  # noqa: PLC0415
        from tiltyard_cluster.ray_cluster import parse_cluster  # noqa: PLC0415

        parse_cluster(cluster)
        named_registry(registry, os.environ)
    elif registry is not None:
        raise UsageError("--registry needs --cluster: on one machine nothing is sent to nodes")
    folder = out or str(default_out(asked.spec, asked.shard))
    options = RunOptions(
        retry_failed=retry_failed,
        model_script=model_script,
        parallel=parallel,
        no_budget=no_budget,
        plan=asked.plan,
        shard=asked.shard,
        s3_endpoint=s3_endpoint,
        cluster=cluster,
        registry=registry,
    )
    if estimate:
        warn(trial, scripted=model_script is not None)
        show_estimate(
            trial, folder, options, prior=prior or (), price_per_mtok=price_per_mtok, as_json=as_json
        )
        return
    if dry_run:
        warn(trial, scripted=model_script is not None)
        _show(preview_trial(trial, folder, options), folder)
        return
    result = _run(trial, folder, options)
    for line in closing(result, asked.spec, folder):
        typer.echo(line)
    raise typer.Exit(int(result.exit_code))


def _require_sense(out: str | None, price: float | None, *, estimate: bool, dry_run: bool) -> None:
    from tiltyard_specs import UsageError  # noqa: PLC0415

    if out is not None and not out.strip():
        raise UsageError("--out is empty; name a folder or s3://bucket/prefix")
    if price is not None and not math.isfinite(price):
        raise UsageError(f"--price-per-mtok is {price}, it must be a number")
    if estimate and dry_run:
        raise UsageError("--estimate and --dry-run exclude each other; both run nothing")


def _run(trial: "Trial", folder: str, options: "RunOptions") -> "TrialResult":
    from tiltyard_cli.trial_run import run_with_progress  # noqa: PLC0415
    from tiltyard_specs import InterruptedTrialError  # noqa: PLC0415

    try:
        return run_with_progress(trial, folder, options)
    except InterruptedTrialError as error:
        raise InterruptedTrialError(f"{error}. To go on: {again()}") from error


def _show(preview: "Preview", folder: str) -> None:
    runs = preview.plan.runs
    done = preview.progress.done
    for number, planned in enumerate(runs, start=1):
        state = f"done, {done[planned.run_id].outcome}" if planned.run_id in done else "to run"
        where = f"{planned.capability}+{planned.question}" if planned.capability else planned.question
        typer.echo(f"{number:>4}  {where}  {planned.arm}  {planned.agent}  #{planned.rep}  {state}")
    if preview.superseded:
        typer.echo(preview.superseded)
    typer.echo(
        f"{plural(len(runs), 'run')}, {len(done)} done, {len(preview.progress.left)} to run; "
        f"results go to {folder}"
    )
