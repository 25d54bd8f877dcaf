"""`tiltyard check`: says everything that is wrong with a spec, and does nothing else."""

import os

import typer

from tiltyard_cli.loading import load, warn
from tiltyard_cli.options import ModelScript, SpecFile


def check(spec: SpecFile, model_script: ModelScript = None) -> None:
    """Check a spec: every problem at once, nothing is run.

    Repositories are looked up as well. Exit code 65 means that the spec is wrong, or a repository or ref does
    not exist; 69 that the spec is right but this machine lacks a key, an engine, or what `limits` ask for.
    """
    from tiltyard_specs import select  # noqa: PLC0415

    trial = select(load(spec))
    # Only a right spec needs what takes long to load.
    from tiltyard_cluster.readiness import require_ready  # noqa: PLC0415
    from tiltyard_cluster.resolve import require_repos  # noqa: PLC0415

    require_repos(trial, os.environ)
    require_ready(trial, os.environ, model_script=model_script)
    warn(trial, scripted=model_script is not None)
    spec_ = trial.spec
    runs = f"{len(spec_.questions)} questions, {len(spec_.arms)} arms, {len(trial.agents)} agents"
    typer.echo(f"{spec}: right. {runs}, {spec_.defaults.reps} repetitions each.")
