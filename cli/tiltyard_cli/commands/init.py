"""`tiltyard init`: writes a commented example to start from."""

from pathlib import Path
from typing import Annotated

import typer

from tiltyard_cli.invocation import suggest


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it: .yaml or .toml.")] = Path(
        "trial.yaml"
    ),
) -> None:
    """Write a commented example spec."""
    from tiltyard_specs import UsageError  # noqa: PLC0415
    from tiltyard_specs.example import example_spec  # noqa: PLC0415

    if path.suffix not in {".yaml", ".yml", ".toml"}:
        raise UsageError(f'a spec is a .yaml or .toml file, got "{path}"')
    if path.exists():
        raise UsageError(f"{path} exists already; choose another name")
    try:
        path.write_text(example_spec("toml" if path.suffix == ".toml" else "yaml"), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    typer.echo(f"Wrote {path}. Look at what it would do: {suggest('run', path, '--dry-run')}")
