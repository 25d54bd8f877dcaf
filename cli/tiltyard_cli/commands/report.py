"""`tiltyard report`: from records to what a person decides from."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltyard_cli.options import Agents, Questions, Results, S3Endpoint

if TYPE_CHECKING:
    from tiltyard_report import Report


class Format(StrEnum):
    """How a report is laid out."""

    MD = "md"
    JSON = "json"
    HTML = "html"


def report(  # noqa: PLR0913 - the choices of the command
    results: Results,
    *,
    baseline: Annotated[str | None, typer.Option(metavar="ARM", help="The arm to compare with.")] = None,
    question: Questions = None,
    agent: Agents = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    s3_endpoint: S3Endpoint = None,
    layout: Annotated[
        Format, typer.Option("--format", help="html is one page that needs no other file.")
    ] = Format.MD,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="Write it there, not to the screen.")
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(
            "--site", metavar="FOLDER", help="Write pages to browse: overview, arms, questions and each run."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Every number as JSON.")] = False,
) -> None:
    """Print the report of a trial, finished or not, of a shard, or of a merged result.

    The exit code is 65, after the report, when a record is damaged and so left out.
    """
    from tiltyard_cluster import open_result  # noqa: PLC0415
    from tiltyard_cluster.reading import read_result  # noqa: PLC0415
    from tiltyard_report import analyse  # noqa: PLC0415

    store = open_result(results, s3_endpoint)
    result = read_result(store, results)
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
    if site is not None:
        from tiltyard_cli.site_source import site_of  # noqa: PLC0415
        from tiltyard_report.site import write_site  # noqa: PLC0415

        pages = write_site(site_of(result, analysed, store, results, s3_endpoint), site)
        typer.echo(f"{pages} pages, to begin with {site / 'index.html'}", err=True)
    if site is None or out is not None:
        _put(_rendered(analysed, Format.JSON if as_json else layout), out)
    if result.problems:
        from tiltyard_specs.exit_codes import ExitCode  # noqa: PLC0415

        raise typer.Exit(int(ExitCode.DATA))


def _rendered(report: "Report", layout: Format) -> str:
    from tiltyard_report import render_json, render_markdown  # noqa: PLC0415

    if layout is Format.HTML:
        from tiltyard_report.html import render_html  # noqa: PLC0415

        return render_html(report)
    return render_json(report) if layout is Format.JSON else render_markdown(report)


def _put(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text)
    else:
        out.write_text(text, encoding="utf-8", errors="backslashreplace")
