"""From records to what a person decides from: one pure analysis step, and renderers that only lay it out."""

from tiltyard_report.analyse import analyse
from tiltyard_report.json_report import render_json
from tiltyard_report.markdown import render_markdown
from tiltyard_report.model import SCHEMA_VERSION, Report

__all__ = ["SCHEMA_VERSION", "Report", "analyse", "render_json", "render_markdown"]
