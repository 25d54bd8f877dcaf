"""`tiltyard rescore`: what stored answers are worth by edited answer keys."""

from typing import Annotated

import typer

from tiltyard_cli.options import Results, S3Endpoint, SpecFile
from tiltyard_cli.told import tell


def rescore(
    spec: SpecFile,
    results: Results,
    s3_endpoint: S3Endpoint = None,
    *,
    report: Annotated[
        bool, typer.Option("--report", help="Print the report of the trial by the new keys as well.")
    ] = False,
) -> None:
    """Score stored answers again with the keys of SPEC, and show what changes. No agent is called.

    The records stay as they are. A run that a verify command decided is not touched.
    """
    from tiltyard_cli.loading import load  # noqa: PLC0415
    from tiltyard_cli.rescoring import lines  # noqa: PLC0415
    from tiltyard_cli.rescoring import rescore as score_again  # noqa: PLC0415
    from tiltyard_cluster import open_result  # noqa: PLC0415
    from tiltyard_cluster.reading import read_result  # noqa: PLC0415
    from tiltyard_specs.errors import DataError  # noqa: PLC0415
    from tiltyard_specs.visible import visible  # noqa: PLC0415

    trial = load(spec)
    result = read_result(open_result(results, s3_endpoint, tell), results)
    for problem in (*result.problems, *result.notes):
        typer.echo(f"tiltyard: {problem}", err=True)
    if result.receipt is not None and result.receipt.trial != trial.spec.name:
        raise DataError(
            f"{spec} is the spec of trial {trial.spec.name!r}, and {results} holds {result.receipt.trial!r}: "
            "give the spec that the results came from"
        )
    done, left = score_again(result.records, trial)
    for line in lines(done, left):
        typer.echo(visible(line, one_line=True))
    if report:
        from tiltyard_report import analyse, render_markdown  # noqa: PLC0415

        analysed = analyse(
            [item.after.to_data() for item in done],
            receipt=result.receipt.to_data() if result.receipt else None,
            attempts=[record.to_data() for record in result.attempts],
        )
        typer.echo("\n" + render_markdown(analysed))
    if result.problems:
        from tiltyard_specs.exit_codes import ExitCode  # noqa: PLC0415

        raise typer.Exit(int(ExitCode.DATA))
