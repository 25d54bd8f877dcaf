"""`tiltyard merge`: makes one result of the parts of a plan, and proves what it holds."""

from pathlib import Path
from typing import Annotated

import typer

from tiltyard_cli.asked import read_plan
from tiltyard_cli.invocation import suggest
from tiltyard_cli.options import S3Endpoint
from tiltyard_cli.waiting import Waiting
from tiltyard_specs.visible import visible


def merge(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan file.", show_default=False)],
    parts: Annotated[
        list[str],
        typer.Argument(
            metavar="SHARD...",
            help="Results of shards, whole or merged ones: folders or s3://bucket/prefix.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            metavar="DEST",
            help="Where the merged result goes: new, empty, or an earlier merge of the plan.",
            show_default=False,
        ),
    ],
    s3_endpoint: S3Endpoint = None,
    *,
    allow_partial: Annotated[
        bool,
        typer.Option("--allow-partial", help="Merge what there is; the result says PARTIAL, for good."),
    ] = False,
) -> None:
    """Merge the results of a plan's shards; in any order and grouping it gives the same bytes.

    Every record, run file and digest is checked. Missing, foreign and altered runs, and copies that differ,
    are named and refused with exit code 65; identical copies are dropped and counted.
    """
    from tiltyard_cluster import merge as merge_parts  # noqa: PLC0415
    from tiltyard_cluster.addresses import open_result, parse_address  # noqa: PLC0415
    from tiltyard_cluster.merge_target import open_target  # noqa: PLC0415
    from tiltyard_cluster.outage import PATIENCE  # noqa: PLC0415

    made = read_plan(plan)
    with Waiting() as waiting:
        stores = [(part, open_result(part, s3_endpoint, waiting, PATIENCE)) for part in parts]
        target = open_target(parse_address(out), made, s3_endpoint, waiting)
        tally = merge_parts(made, stores, target, allow_partial=allow_partial, tell=waiting)
    typer.echo(f"{tally.words()}; {tally.attempts} earlier attempts kept")
    if tally.missing:
        typer.echo(f"PARTIAL: no verdict rests on {visible(out)}")
    typer.echo(f"Report: {suggest('report', out)}")
