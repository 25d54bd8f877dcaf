"""The report as plain text: the same parts in the same order as in Markdown."""

import re

from tiltyard_report.markdown import render_markdown
from tiltyard_report.model import Report

_HEADING = re.compile(r"(#{1,2}) (.*)")
_ESCAPED = re.compile(r"\\([\\|`*\[\]<])")
_RULE = re.compile(r"\|[-:| ]+\|")


def render_text(report: Report) -> str:
    """Lay a report out as plain text: no markup, headings underlined."""
    return "\n".join(_plain(line) for line in render_markdown(report).split("\n"))


def _plain(line: str) -> str:
    heading = _HEADING.fullmatch(line)
    if heading:
        text = _unescaped(heading[2])
        return f"{text}\n{('=' if heading[1] == '#' else '-') * len(text)}"
    if _RULE.fullmatch(line):
        return line[2:-2].replace(" | ", "  ").replace(":", "-").rstrip()
    if line.startswith("| "):
        return _unescaped(line[2:-2].replace(" | ", "  ")).rstrip()
    if line.startswith("**") and line.endswith("**"):
        line = line[2:-2]
    elif line.startswith("*") and line.endswith("*"):
        line = line[1:-1]
    return _unescaped(line.removeprefix("> "))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
