"""Reads the spec that a command was given."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tiltyard_cli.invocation import suggest
from tiltyard_cli.masked import remember

if TYPE_CHECKING:
    from tiltyard_specs import Trial


def load(path: Path) -> "Trial":
    """The trial of a spec file.

    Raises:
        SpecError: It holds something wrong: every problem at once.
        DataError: It is a model script.
    """
    from tiltyard_specs import SpecError, load_trial  # noqa: PLC0415

    _remember_keys(path)
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


def _remember_keys(path: Path) -> None:
    """Mask the keys that the spec names, in what is said of the spec as well: it may hold one of them."""
    from tiltyard_specs.keys import named_variables  # noqa: PLC0415
    from tiltyard_specs.source import read_source  # noqa: PLC0415

    names = named_variables(read_source(path).data)
    remember(os.environ.get(name, "").strip() for name in names)


def _not_a_script(path: Path) -> None:
    """A model script in place of a spec would be told key by key, which helps nobody."""
    from tiltyard_specs import DataError  # noqa: PLC0415
    from tiltyard_specs.source import read_source  # noqa: PLC0415

    data = read_source(path).data
    if isinstance(data, dict) and "conversations" in data and "questions" not in data:
        command = suggest("check", "SPEC", "--model-script", path)
        raise DataError(f"{path} is a model script, not a trial spec; to check it: {command}")
