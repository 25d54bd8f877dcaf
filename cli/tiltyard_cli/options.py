"""Options that several commands share, written once."""

from pathlib import Path
from typing import Annotated

import typer

SpecFile = Annotated[
    Path, typer.Argument(metavar="SPEC", help="The trial: a YAML, TOML or JSON file.", show_default=False)
]
Questions = Annotated[
    list[str] | None, typer.Option("--question", metavar="ID", help="Only this question; may be repeated.")
]
Arms = Annotated[
    list[str] | None, typer.Option("--arm", metavar="NAME", help="Only this arm; may be repeated.")
]
Agents = Annotated[
    list[str] | None, typer.Option("--agent", metavar="NAME", help="Only this agent; may be repeated.")
]
Reps = Annotated[int | None, typer.Option("--reps", metavar="N", help="Repetitions, instead of the spec's.")]
ModelScript = Annotated[
    Path | None,
    typer.Option(
        "--model-script",
        metavar="FILE",
        help="Answer model calls from this script: no provider, no key, no cost.",
    ),
]
S3Endpoint = Annotated[
    str | None,
    typer.Option(
        "--s3-endpoint",
        metavar="URL",
        help="Address of the S3 service; default: AWS_ENDPOINT_URL_S3, else AWS.",
    ),
]
Registry = Annotated[
    str | None,
    typer.Option(
        "--registry",
        metavar="NAME",
        help="With a cluster: the registry, HOST[:PORT][/REPOSITORY], by which images reach nodes; "
        "default: TILTYARD_REGISTRY, else through DEST.",
    ),
]
Results = Annotated[
    str,
    typer.Argument(
        metavar="RESULTS",
        help="A results folder or s3://bucket/prefix, whole or unfinished.",
        show_default=False,
    ),
]
