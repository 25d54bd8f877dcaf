"""`tiltyard doctor`: what this machine has for trials, and what it lacks, in sentences."""

import os
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltyard_cli.loading import load
from tiltyard_cli.options import ModelScript
from tiltyard_specs.errors import DataError
from tiltyard_specs.exit_codes import ExitCode

if TYPE_CHECKING:
    from tiltyard_cluster.doctor import Finding
    from tiltyard_specs import Trial

OptionalSpec = Annotated[
    Path | None,
    typer.Argument(metavar="[SPEC]", help="A trial, to see what it would meet here.", show_default=False),
]


def doctor(spec: OptionalSpec = None, model_script: ModelScript = None) -> None:
    """Say what this machine has for trials and what it lacks; nothing is changed.

    Exit code 0 means that a trial could run, 69 that something needed is missing, 65 that the spec is wrong.
    """
    code = ExitCode.OK
    for finding in _findings(spec, model_script):
        typer.echo(str(finding))
        # A wrong spec is wrong on every machine: that weighs more than what is missing on this one.
        if code is not ExitCode.DATA and finding.code is not ExitCode.OK:
            code = finding.code
    typer.echo(_closing(code, spec))
    raise typer.Exit(int(code))


def _findings(spec: Path | None, model_script: Path | None) -> Iterator["Finding"]:
    from tiltyard_cluster.doctor import Finding, examine_machine, open_engine  # noqa: PLC0415
    from tiltyard_cluster.doctor_spec import examine_spec  # noqa: PLC0415

    engine = open_engine()
    with nullcontext() if isinstance(engine, Finding) else closing(engine):
        yield from examine_machine(engine, os.environ)
        if spec is None:
            return
        try:
            trial = _load(spec, model_script)
        except DataError as error:
            yield from (Finding("missing", line, ExitCode.DATA) for line in str(error).splitlines())
        else:
            yield from examine_spec(trial, engine, os.environ, scripted=model_script is not None)


def _load(spec: Path, model_script: Path | None) -> "Trial":
    from tiltyard_specs import select  # noqa: PLC0415

    trial = select(load(spec))
    if model_script is not None:
        from tiltyard_gateway.scripted import load_script  # noqa: PLC0415

        load_script(model_script)
    return trial


def _closing(code: ExitCode, spec: Path | None) -> str:
    trial = "a trial" if spec is None else f"the trial {spec}"
    match code:
        case ExitCode.OK:
            return f"Nothing needed is missing: {trial} could run here."
        case ExitCode.DATA:
            return f"The spec {spec} is wrong: correct what is named above, then try again."
        case _:
            return f"Something needed is missing: {trial} cannot run here until it is there."
