"""`tiltyard cluster`: nodes on this machine, and what the nodes of any cluster have and lack."""

import os
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tiltyard_cli.options import Registry, S3Endpoint

cluster_app = typer.Typer(
    help="Start Ray nodes on this machine, or examine a cluster.", rich_markup_mode=None
)


@cluster_app.command(short_help="Start Ray nodes on this machine.")
def up(
    local: Annotated[int, typer.Option(min=1, max=64, metavar="N", help="How many nodes.")] = 2,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the head; 0 for any free one.")] = 0,
    *,
    engines: Annotated[
        bool,
        typer.Option(
            "--engines",
            help="Give each node a Docker engine of its own, in a network namespace (needs root).",
        ),
    ] = False,
) -> None:
    """Start N Ray nodes on this machine, each with an address of its own, until Ctrl-C.

    Only who has the token can use them; it lies in a file that only you can read. A node's own engine holds
    its containers apart from the others'; they reach no network but the meter.
    """
    from tiltyard_cli.signals import ended_by_signals  # noqa: PLC0415
    from tiltyard_cluster.local_cluster import LocalCluster  # noqa: PLC0415
    from tiltyard_cluster.node_engines import node_engines  # noqa: PLC0415

    with ended_by_signals(), ExitStack() as stack:
        environs = stack.enter_context(node_engines(local)) if engines else ()
        cluster = stack.enter_context(LocalCluster(local, environs=environs, port=port))
        token = stack.enter_context(tempfile.NamedTemporaryFile("w", prefix="tiltyard-token-"))
        token.write(cluster.token)
        token.flush()
        typer.echo(f"{local} nodes are up. To use them, in another terminal:")
        typer.echo(f"export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH={token.name}")
        typer.echo(f"tiltyard run trial.yaml --cluster {cluster.address}")
        typer.echo("Ctrl-C ends them.")
        try:
            signal.pause()
        except KeyboardInterrupt:
            typer.echo("ending the nodes")


@cluster_app.command(short_help="Say what each node has and lacks.")
def doctor(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="HOST:PORT of the head, or auto.")],
    out: Annotated[
        str | None,
        typer.Option(metavar="DEST", help="Results folder or s3://bucket/prefix that every node must see."),
    ] = None,
    s3_endpoint: S3Endpoint = None,
    registry: Registry = None,
) -> None:
    """Say of each node what it has for trials and what it lacks.

    Looks at versions, clock, engine, disk and images; with --out at the place for results, and with
    --registry at that. Exit code 0 means that every node could work, 69 that something needed is missing.
    """
    from tiltyard_cluster.addresses import open_store  # noqa: PLC0415
    from tiltyard_cluster.cluster_doctor import STORE_SECONDS, examine_cluster  # noqa: PLC0415
    from tiltyard_cluster.image_registry import named_registry  # noqa: PLC0415
    from tiltyard_cluster.ray_cluster import open_cluster, parse_cluster  # noqa: PLC0415
    from tiltyard_specs.exit_codes import ExitCode  # noqa: PLC0415

    code = ExitCode.OK
    store = None if out is None else open_store(_absolute(out), s3_endpoint, patience=STORE_SECONDS)
    images = named_registry(registry, os.environ)
    with open_cluster(parse_cluster(address)) as session:
        for node in examine_cluster(session, store, images):
            for finding in node.findings:
                typer.echo(f"{node.node}  {finding}")
                code = code if finding.code is ExitCode.OK else finding.code
    typer.echo("Every node could work." if code is ExitCode.OK else "Something needed is missing.")
    raise typer.Exit(int(code))


def _absolute(out: str) -> str:
    return out if "://" in out else os.fspath(Path(out).absolute())
