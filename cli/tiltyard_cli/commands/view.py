"""`tiltyard view`: the report as pages, in a browser, also while the trial is running."""

from functools import partial
from typing import Annotated

import typer

from tiltyard_cli.options import Results, S3Endpoint
from tiltyard_cli.told import tell

_PORT = 8765


def view(
    results: Results,
    port: Annotated[
        int, typer.Option(metavar="N", help="Port on this machine; 0 takes any free one.", min=0, max=65535)
    ] = _PORT,
    s3_endpoint: S3Endpoint = None,
) -> None:
    """Serve the report as pages on this machine, until Ctrl-C.

    Pages of a trial that is still running show its runs as they come.
    """
    from tiltyard_cli.serving import open_server  # noqa: PLC0415
    from tiltyard_cli.signals import ended_by_signals  # noqa: PLC0415
    from tiltyard_cli.site_source import LiveSite, load_site, signature  # noqa: PLC0415
    from tiltyard_cli.waiting import Waiting  # noqa: PLC0415
    from tiltyard_cluster import open_result  # noqa: PLC0415

    store = open_result(results, s3_endpoint, tell)
    with Waiting() as waiting:
        waiting(f"reading {results}")
        site = LiveSite(partial(load_site, results, store, s3_endpoint), partial(signature, store))
    with open_server(site, port) as server:
        try:
            with ended_by_signals():
                typer.echo(f"http://127.0.0.1:{server.server_address[1]}/  (Ctrl-C ends it)")
                server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("")
