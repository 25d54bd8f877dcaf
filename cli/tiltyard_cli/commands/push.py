"""`tiltyard push` and `pull`: copy results between a folder and S3."""

from pathlib import Path
from typing import Annotated

import typer

from tiltyard_cli.options import S3Endpoint
from tiltyard_cli.waiting import Waiting

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.", show_default=False)]
InS3 = Annotated[str, typer.Argument(metavar="s3://BUCKET/PREFIX", help="A place in S3.", show_default=False)]


def push(folder: Folder, to: InS3, s3_endpoint: S3Endpoint = None) -> None:
    """Copy a results folder to S3. Broken off, it goes on; nothing that differs is overwritten."""
    _transfer(folder, _in_s3(to), s3_endpoint)


def pull(source: InS3, folder: Folder, s3_endpoint: S3Endpoint = None) -> None:
    """Copy a result from S3 to a folder, checksums proven. Broken off, it goes on; nothing is overwritten."""
    _transfer(_in_s3(source), folder, s3_endpoint)


def _in_s3(address: str) -> str:
    from tiltyard_cluster.addresses import S3  # noqa: PLC0415
    from tiltyard_specs import UsageError  # noqa: PLC0415

    if not address.startswith(S3):
        raise UsageError(f"{address} is no place in S3: give s3://bucket/prefix")
    return address


def _transfer(source: str | Path, target: str | Path, endpoint: str | None) -> None:
    from tiltyard_cluster.transfer import transfer  # noqa: PLC0415

    with Waiting() as waiting:
        done = transfer(source, target, endpoint=endpoint, tell=waiting)
    typer.echo(f"{done.copied} objects copied to {target}, {done.equal} were there already")
