"""A report as a site of static pages: overview, arms, capabilities, questions and runs.

Links are relative, so a folder or a bucket can serve it; `Site.page` makes single pages for a server.
"""

from tiltyard_report.site.files import NoFiles, RunFile, RunFiles
from tiltyard_report.site.pages import Site
from tiltyard_report.site.write import write_site

__all__ = ["NoFiles", "RunFile", "RunFiles", "Site", "write_site"]
