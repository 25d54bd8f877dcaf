"""The report on a terminal, as wide as that is: no name and no number is cut, whatever the width."""

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, MarkdownElement, TableElement
from rich.table import Table

from tiltyard_report.markdown import render_markdown
from tiltyard_report.model import Report


class _Folded(TableElement):
    """A table whose long words go on in the next line, where rich would end them with an ellipsis."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Report(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "table_open": _Folded}


def print_report(report: Report, console: Console) -> None:
    """Show a report on a terminal."""
    console.print(_Report(render_markdown(report)))
