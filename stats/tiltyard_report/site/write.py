"""Writes a site into a folder, page by page: however many runs there are, one page is in memory."""

from pathlib import Path

from tiltyard_report.site.pages import Site
from tiltyard_specs.errors import UsageError

_MARK = "index.html"
_OURS = '<meta name="generator" content="Tiltyard">'


def write_site(site: Site, out: Path) -> int:
    """Write every page; pages of an earlier report in the same folder are replaced, or removed.

    Args:
        site: The pages.
        out: A new folder, an empty one, or one that an earlier report was written to.

    Returns:
        How many pages were written.

    Raises:
        UsageError: The folder holds something else.
    """
    _require_ours(out)
    written: set[Path] = set()
    for path in site.paths():
        page = site.page(path)
        if page is None:
            continue
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # What an agent wrote may hold lone surrogates; they are shown as escapes, and this is the last guard.
        target.write_text(page, encoding="utf-8", errors="backslashreplace")
        written.add(target)
    _remove_others(out, written)
    return len(written)


def _remove_others(out: Path, written: set[Path]) -> None:
    """A page that nothing leads to any more would be found all the same, and believed."""
    for page in list(out.rglob("*.html")):
        if page not in written and _is_ours(page):
            page.unlink()


def _is_ours(page: Path) -> bool:
    return page.is_file() and _OURS in page.read_text(errors="replace")[:20_000]


def _require_ours(out: Path) -> None:
    if out.is_file():
        raise UsageError(f"{out} is a file; name a folder for the site.")
    if not out.is_dir() or not any(out.iterdir()):
        return
    mark = out / _MARK
    if not _is_ours(mark):
        raise UsageError(f"{out} holds something else than a site of tiltyard; name a new or empty folder.")
