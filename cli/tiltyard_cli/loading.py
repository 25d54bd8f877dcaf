"""Reads the spec that a command was given."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tiltyard_cli.invocation import suggest

if TYPE_CHECKING:
    from tiltyard_specs import Trial


def load(path: Path) -> "Trial":
    """The trial of a spec file.

    Raises:
        SpecError: It holds something wrong: every problem at once.
        DataError: It is a model script.
    """
    from tiltyard_specs import SpecError, load_trial  # noqa: PLC0415

    try:
        return load_trial(path)
    except SpecError:
        _not_a_script(path)
        raise


def warn(trial: "Trial", *, scripted: bool) -> None:
    """Tell what is allowed in a spec and yet most likely not meant."""
    from tiltyard_specs import warnings  # noqa: PLC0415

    for warning in warnings(trial, scripted=scripted):
        typer.echo(f"warning: {warning}", err=True)


def _not_a_script(path: Path) -> None:
    """A model script in place of a spec would be told key by key, which helps nobody."""
    from tiltyard_specs import DataError  # noqa: PLC0415
    from tiltyard_specs.source import read_source  # noqa: PLC0415

    data = read_source(path).data
    if isinstance(data, dict) and "conversations" in data and "questions" not in data:
        command = suggest("check", "SPEC", "--model-script", path)
        raise DataError(f"{path} is a model script, not a trial spec; to check it: {command}")
