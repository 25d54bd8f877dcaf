"""Takes the pictures of docs/img from a made-up result: the overview, a run, and the one-page report.

.venv/bin/python scripts/screenshots.py        # needs chromium: infra/browser.sh
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sample_result import write_sample

from tiltyard_cli.site_source import load_site
from tiltyard_cluster import FolderStore
from tiltyard_cluster.reading import read_result
from tiltyard_report import analyse
from tiltyard_report.html import render_html
from tiltyard_report.site import write_site

_OUT = Path(__file__).resolve().parent.parent / "docs" / "img"
_SHOTS = {
    "overview.png": ("site/index.html", "light", 0, 1000),
    "run.png": ("site/run/change+fix-range/docs/claude/1.html", "light", 0, 1000),
    "report.png": ("page.html", "dark", 0, 1000),
}
"""Page, colour scheme, where to scroll, and height."""
_COLOURS = 96


def main() -> None:
    """Make the result, its pages, and the pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium: infra/browser.sh installs it")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_pages(folder)
        _OUT.mkdir(exist_ok=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium)
            for target, (path, scheme, top, height) in _SHOTS.items():
                page = browser.new_page(viewport={"width": 1080, "height": height})
                page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                page.goto((folder / path).as_uri())
                page.evaluate(f"scrollTo(0, {top})")
                _save(page.screenshot(), _OUT / target)
            browser.close()


def _write_pages(folder: Path) -> None:
    results = folder / "results"
    write_sample(results)
    store = FolderStore(results)
    write_site(load_site(str(results), store, None, None), folder / "site")
    read = read_result(store, str(results))
    receipt = read.receipt.to_data() if read.receipt else None
    report = analyse([record.to_data() for record in read.records], receipt=receipt)
    (folder / "page.html").write_text(render_html(report))


def _save(png: bytes, target: Path) -> None:
    """With few colours: a page of text needs no more, and a repository keeps every byte forever."""
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(_COLOURS)
    image.save(target, optimize=True)
    print(f"{target}: {target.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
