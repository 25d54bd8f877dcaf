"""The report as one offline page: no network, no other file, for print, keyboard and screen reader too."""

from tiltyard_report.html.render import render_html

__all__ = ["render_html"]
