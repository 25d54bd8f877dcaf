"""From records to what a person decides from: one pure analysis step, and renderers that only lay it out."""

from tiltyard_report.analyse import analyse
from tiltyard_report.csv_report import render_cases_csv, render_csv
from tiltyard_report.json_report import render_json
from tiltyard_report.markdown import render_markdown
from tiltyard_report.model import SCHEMA_VERSION, Report
from tiltyard_report.text import render_text

__all__ = [
    "SCHEMA_VERSION",
    "Report",
    "analyse",
    "render_cases_csv",
    "render_csv",
    "render_json",
    "render_markdown",
    "render_text",
]
