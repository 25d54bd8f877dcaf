"""`tiltyard report`: from records to what a person decides from."""

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltyard_cli.options import Agents, Questions, S3Endpoint

if TYPE_CHECKING:
    from tiltyard_cli.report_sources import Source
    from tiltyard_report import Report


class Format(StrEnum):
    """How a report is laid out."""

    MD = "md"
    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    CASES = "cases"
    HTML = "html"


class Design(StrEnum):
    """What the questions stand for."""

    CURATED = "curated"
    SAMPLED = "sampled"
    CLUSTERED = "clustered"


_FORMAT_HELP = (
    "csv has a row per arm, cases one per question and arm, html is one page that needs no other file; "
    "default: for a terminal, else md."
)
_PATHS_HELP = (
    "Results, whole or unfinished: a folder, s3://bucket/prefix, or a row file (.jsonl). Several are several "
    "runs of one trial."
)


def report(  # noqa: PLR0913 - the choices of the command
    results: Annotated[list[str], typer.Argument(metavar="RESULTS...", help=_PATHS_HELP, show_default=False)],
    *,
    baseline: Annotated[str | None, typer.Option(metavar="ARM", help="The arm to compare with.")] = None,
    question: Questions = None,
    agent: Agents = None,
    design: Annotated[
        Design, typer.Option(help="What the questions stand for: themselves, others like them, or groups.")
    ] = Design.CURATED,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="source: formulas of older tools; or the name of one formula.")
    ] = "default",
    repeats: Annotated[
        str, typer.Option("--pass-k", metavar="K,...", help="For which k to give pass@k and pass^k.")
    ] = "1,3",
    minimum_trials: Annotated[
        int, typer.Option(metavar="N", help="Complete repetitions that a comparison should have.")
    ] = 5,
    regression_threshold: Annotated[
        float, typer.Option(metavar="SHARE", help="Change of a question's pass rate from which it is listed.")
    ] = 0.05,
    s3_endpoint: S3Endpoint = None,
    layout: Annotated[Format | None, typer.Option("--format", help=_FORMAT_HELP)] = None,
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
    from tiltyard_cli.report_sources import receipt_of, sources  # noqa: PLC0415
    from tiltyard_report import analyse  # noqa: PLC0415

    ks = _whole_numbers(repeats)
    layout = _layout(layout, out, as_json=as_json)
    with sources(results, s3_endpoint, by_record=site is not None) as found:
        for problem in (line for each in found for line in (*each.problems, *each.notes)):
            typer.echo(f"tiltyard: {problem}", err=True)
        analysed = analyse(
            *(each.records for each in found),
            receipt=receipt_of(found),
            baseline=baseline,
            questions=tuple(question or ()),
            agents=tuple(agent or ()),
            confidence=confidence,
            attempts=[attempt for each in found for attempt in each.attempts],
            design=design,
            method=method,
            pass_k=ks,
            minimum_trials=minimum_trials,
            regression_threshold=regression_threshold,
        )
        if site is not None:
            _write_site(found, analysed, site, s3_endpoint)
    if site is None or out is not None:
        _put(analysed, layout, out)
    _summarise(analysed)
    if any(each.problems for each in found):
        from tiltyard_specs.exit_codes import ExitCode  # noqa: PLC0415

        raise typer.Exit(int(ExitCode.DATA))


def _whole_numbers(text: str) -> tuple[int, ...]:
    from tiltyard_specs.errors import UsageError  # noqa: PLC0415

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--pass-k is {text!r}, it must be whole numbers such as 1,3") from None


def _layout(layout: Format | None, out: Path | None, *, as_json: bool) -> Format | None:
    """The format that is asked for; None for what suits the screen. Known before anything is computed."""
    from tiltyard_specs.errors import UsageError  # noqa: PLC0415

    if as_json and layout not in {None, Format.JSON}:
        raise UsageError(f"--json and --format {layout} ask for two formats: give one of them")
    if as_json:
        layout = Format.JSON
    if out is None:
        return layout
    if not out.parent.is_dir():
        raise UsageError(f"{out} cannot be written: there is no folder {out.parent}")
    if out.is_dir():
        raise UsageError(f"{out} cannot be written: it is a folder")
    endings = {f".{each}": each for each in Format if each is not Format.CASES}
    endings |= {".txt": Format.TEXT, ".htm": Format.HTML, "": Format.MD}
    found = layout or endings.get(out.suffix.lower())
    if found is None:
        known = ", ".join(sorted(filter(None, endings)))
        raise UsageError(f"--out ends in {out.suffix}, which is no format: give --format, or one of {known}")
    return found


def _write_site(found: "Sequence[Source]", analysed: "Report", site: Path, endpoint: str | None) -> None:
    from tiltyard_cli.site_source import site_of  # noqa: PLC0415
    from tiltyard_report.site import write_site  # noqa: PLC0415
    from tiltyard_specs.errors import UsageError  # noqa: PLC0415

    one = found[0]
    if len(found) > 1 or one.result is None or one.store is None:
        raise UsageError("--site needs one result of a trial: its pages show each run with its files")
    pages = write_site(site_of(one.result, analysed, one.store, one.name, endpoint), site)
    typer.echo(f"{pages} pages, to begin with {site / 'index.html'}", err=True)


def _put(analysed: "Report", layout: Format | None, out: Path | None) -> None:
    if out is not None:
        from tiltyard_specs.errors import UsageError  # noqa: PLC0415

        text = _rendered(analysed, layout or Format.MD)
        try:
            out.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    elif layout is None and sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415

        from tiltyard_report.terminal import print_report  # noqa: PLC0415

        print_report(analysed, Console())
    else:
        typer.echo(_rendered(analysed, layout or Format.MD), nl=layout not in {Format.CSV, Format.CASES})


def _rendered(analysed: "Report", layout: Format) -> str:
    import tiltyard_report as reports  # noqa: PLC0415

    if layout is Format.HTML:
        from tiltyard_report.html import render_html  # noqa: PLC0415

        return render_html(analysed)
    render = {
        Format.MD: reports.render_markdown,
        Format.TEXT: reports.render_text,
        Format.JSON: reports.render_json,
        Format.CSV: reports.render_csv,
        Format.CASES: reports.render_cases_csv,
    }[layout]
    return render(analysed)


def _summarise(analysed: "Report") -> None:
    """Add the report to the summary of a job of GitHub's, which names a file for it."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(_rendered(analysed, Format.MD) + "\n")
