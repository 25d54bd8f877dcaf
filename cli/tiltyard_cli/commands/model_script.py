"""`tiltyard model-script`: the scripted model server on its own."""

from pathlib import Path
from typing import Annotated

import typer


def model_script(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The script; docs/model-script.md describes it.")
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
) -> None:
    """Serve scripted model answers on this machine until interrupted."""
    from tiltyard_gateway.scripted import run_script  # noqa: PLC0415

    run_script(file, port=port)
