"""The one-page report: the plain sentence, what changed most, pictures, then every table."""

from dataclasses import dataclass

from markupsafe import Markup, escape

from tiltyard_report.html.dialect import Section, sections
from tiltyard_report.html.environment import render
from tiltyard_report.markdown import render_markdown
from tiltyard_report.model import Report
from tiltyard_report.pictures import Grid, Picture, draw, picture_numbers

FOLDED_ROWS = 25
"""Rows of a table that stand open; more are shown on demand."""
_OPEN = ("With ", "Do not claim")
_ABOVE = ("What changed most",)
"""Sections of the Markdown report that the page has above its tables."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture as a page shows it."""

    picture: Picture
    svg: Markup
    grid: Grid


def render_html(report: Report) -> str:
    """Lay a report out as one HTML file that needs nothing else."""
    return render("report.html.j2", overview(report) | {"root": "", "live": None})


def overview(report: Report) -> dict[str, object]:
    """What a page that shows a whole report needs."""
    every = [part for part in sections(render_markdown(report)) if part.title not in _ABOVE]
    return {
        "report": report,
        "marks": marks_of(report),
        "title": report.name or "Trial",
        "figures": [_figure(picture) for picture in draw(picture_numbers(report), report)],
        "sections": [(part, _opened(part)) for part in every],
        "folded": FOLDED_ROWS,
    }


def marks_of(report: Report) -> list[str]:
    """What must stand beside everything that is taken from a report."""
    return ["PARTIAL"] * (report.state == "partial") + ["UNHEALTHY"] * (not report.healthy)


def _opened(part: Section) -> bool:
    return part.title.startswith(_OPEN) and part.rows <= FOLDED_ROWS


def _figure(picture: Picture) -> Figure:
    """The drawing names itself to a screen reader by its finding and how to read it."""
    title, described = f"{picture.key}-title", f"{picture.key}-desc"
    words = Markup('<title id="{}">{}</title><desc id="{}">{}</desc>').format(
        title, picture.title, described, picture.description
    )
    opening, _, rest = picture.svg.partition(">")
    attributes = f' role="img" aria-labelledby="{escape(title)} {escape(described)}">'
    # The drawing comes from matplotlib, which escapes every text that it is given.
    return Figure(picture, Markup(opening + attributes) + words + Markup(rest), picture.grid)  # noqa: S704
