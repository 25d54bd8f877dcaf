"""`tiltyard check`: says everything that is wrong with a spec, and does nothing else."""

import os

import typer

from tiltyard_cli.options import ModelScript, SpecFile


def check(spec: SpecFile, model_script: ModelScript = None) -> None:
    """Check a spec: every problem at once, nothing is run.

    Exit code 65 means that the spec is wrong; 69 that it is right but this machine lacks a key or an engine.
    """
    from tiltyard_specs import load_trial, select  # noqa: PLC0415

    trial = select(load_trial(spec))
    # Only a right spec needs what takes long to load.
    from tiltyard_cluster.readiness import require_ready  # noqa: PLC0415

    require_ready(trial, os.environ, model_script=model_script)
    spec_ = trial.spec
    runs = f"{len(spec_.questions)} questions, {len(spec_.arms)} arms, {len(trial.agents)} agents"
    typer.echo(f"{spec}: right. {runs}, {spec_.defaults.reps} repetitions each.")
