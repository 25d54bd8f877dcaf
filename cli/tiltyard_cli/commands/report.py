"""`tiltyard report`: from records to what a person decides from."""

from typing import Annotated

import typer

from tiltyard_cli.options import Agents, Questions, Results, S3Endpoint


def report(
    results: Results,
    baseline: Annotated[str | None, typer.Option(metavar="ARM", help="The arm to compare with.")] = None,
    question: Questions = None,
    agent: Agents = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    s3_endpoint: S3Endpoint = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Every number as JSON.")] = False,
) -> None:
    """Print the report of a trial, finished or not, of a shard, or of a merged result.

    The exit code is 65, after the report, when a record is damaged and so left out.
    """
    from tiltyard_cluster import open_result  # noqa: PLC0415
    from tiltyard_cluster.reading import read_result  # noqa: PLC0415
    from tiltyard_report import analyse, render_json, render_markdown  # noqa: PLC0415

    result = read_result(open_result(results, s3_endpoint), results)
    for problem in (*result.problems, *result.notes):
        typer.echo(f"tiltyard: {problem}", err=True)
    receipt = result.receipt.to_data() if result.receipt else None
    analysed = analyse(
        [record.to_data() for record in result.records],
        receipt=receipt,
        baseline=baseline,
        questions=tuple(question or ()),
        agents=tuple(agent or ()),
        confidence=confidence,
        attempts=[record.to_data() for record in result.attempts],
    )
    typer.echo(render_json(analysed) if as_json else render_markdown(analysed))
    if result.problems:
        from tiltyard_specs.exit_codes import ExitCode  # noqa: PLC0415

        raise typer.Exit(int(ExitCode.DATA))
