"""The page and the site in a real browser: no request, filters, links, dark mode, access for everybody."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tiltyard_cli.serving import open_server
from tiltyard_cli.site_source import LiveSite, load_site, signature
from tiltyard_cluster import FolderStore

pytestmark = pytest.mark.slow
TILTYARD = str(Path(sys.executable).with_name("tiltyard"))
PAGES = (
    "page.html",
    "site/index.html",
    "site/runs.html",
    "site/arm/docs.html",
    "site/capability/change.html",
    "site/question/navigation+inherit.html",
    "site/run/change+fix-range/docs/claude/1.html",
)
"""One of each kind."""
_OWN = "document.title='owned'"
EVIL = f"</pre><script>{_OWN}</script><img src=http://127.0.0.1:9/x onerror={_OWN}>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    chromium = shutil.which("chromium")
    assert chromium, "there is no chromium: infra/browser.sh installs it"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def pages(sample: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up result, one run of which wrote markup; its page and its site."""
    folder = tmp_path_factory.mktemp("pages")
    sample.write_sample(folder / "results", 6, 4)
    (folder / "results/runs/change+fix-range/docs/claude/1/raw.out").write_text(EVIL)
    (folder / "results/runs/change+fix-range/docs/claude/1/patch.diff").write_text(f"+{EVIL}\n")
    command = [TILTYARD, "report", "results", "--format", "html", "--out", "page.html", "--site", "site"]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    return folder


class Visit:
    """A tab that remembers what it was told and what it asked for."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.page.set_default_timeout(120_000)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Open a tab."""
    opened: list[Visit] = []

    def make(**options: Any) -> Visit:
        opened.append(Visit(browser, **options))
        return opened[-1]

    yield make
    for tab in opened:
        tab.page.close()


def test_pages_ask_for_nothing_and_have_no_faults(pages: Path, visit: Callable[..., Visit]) -> None:
    """Every kind of page: no message on the console, no request but for itself, no serious finding of axe."""
    tab = visit()
    for path in PAGES:
        url = (pages / path).as_uri()
        tab.page.goto(url)
        tab.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        found = Axe().run(tab.page).response["violations"]

        serious = [item["id"] for item in found if item["impact"] in {"serious", "critical"}]
        assert not serious, (path, found)
        assert tab.page.title() != "owned"
        assert tab.asked == [url], path
        assert tab.said == [], path
        tab.asked.clear()


@pytest.mark.parametrize("paper", [False, True])
def test_nothing_stands_out_of_a_narrow_page(
    pages: Path, visit: Callable[..., Visit], *, paper: bool
) -> None:
    """On a phone tables and drawings scroll in their frames, at a readable size; on paper all fits."""
    page = visit(viewport={"width": 700 if paper else 400, "height": 800}).page
    for path in (PAGES[0], PAGES[-1]) if paper else PAGES:
        page.goto((pages / path).as_uri())
        if paper:
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            page.emulate_media(media="print")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, path
        if not paper and page.locator("figure svg text").count():
            letters = page.locator("figure svg text").first.evaluate(
                "(part) => part.getBoundingClientRect().height"
            )
            assert letters > 9, path


def test_dark_mode(pages: Path, visit: Callable[..., Visit]) -> None:
    """The paper is dark, letters and pictures are light, and their contrast is enough."""
    colours = {}
    for scheme in ("light", "dark"):
        tab = visit(color_scheme=scheme)
        tab.page.goto((pages / "page.html").as_uri())
        colours[scheme] = tab.page.evaluate(
            "[document.body, document.querySelector('svg text')].map((part) => getComputedStyle(part))"
            ".map((style, place) => place ? style.fill : style.backgroundColor)"
        )

    found = Axe().run(tab.page, options={"runOnly": ["color-contrast"]}).response["violations"]
    assert not found, found
    assert colours == {
        "light": ["rgb(255, 255, 255)", "rgb(22, 24, 29)"],
        "dark": ["rgb(20, 23, 28)", "rgb(233, 236, 241)"],
    }


def test_tables_sort_and_fold_by_keyboard(pages: Path, visit: Callable[..., Visit]) -> None:
    page = visit().page
    page.goto((pages / "page.html").as_uri())
    figure = page.locator("#heatmap")
    figure.locator("summary").press("Enter")
    rows = figure.locator("tbody tr:visible")
    assert rows.count() == 25
    figure.get_by_role("button", name="Show all 36 rows").press("Enter")
    assert rows.count() == 36

    head = figure.locator("th").nth(3)
    button = head.locator("button")
    button.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    shares = [text.split("/") for text in figure.locator("tbody tr td:nth-child(4)").all_inner_texts()]
    values = [int(passed) / int(runs) for passed, runs in shares]
    assert values == sorted(values)
    button.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"


def test_filters_and_the_links_that_carry_them(pages: Path, visit: Callable[..., Visit]) -> None:
    """Choose on one page, follow links over three more, and find the choice kept."""
    page = visit().page
    page.goto((pages / "site/index.html").as_uri())
    page.locator("select[name=arm]").select_option("docs")
    page.locator("select[name=capability]").select_option("change")
    matrix = page.locator("table.counted").first
    assert matrix.locator("tbody tr:visible").count() == 3
    assert matrix.locator("thead th:visible").all_inner_texts() == [
        "question", "docs with claude", "docs with codex@gpt-5.1@low",
    ]  # fmt: skip

    page.get_by_role("link", name="All runs").click()
    page.wait_for_url("**/runs.html?*")
    assert page.locator("select[name=arm]").input_value() == "docs"
    assert page.locator("#runs-note").inner_text() == "24 of 24 runs shown, 144 in all"
    page.locator("select[name=outcome]").select_option("passed")
    shown = page.locator("#runs tbody tr")
    assert set(shown.locator("td:nth-child(2)").all_inner_texts()) == {"docs"}
    assert set(shown.locator("td:nth-child(5)").all_inner_texts()) == {"passed"}

    shown.first.get_by_role("link").click()
    page.wait_for_url("**/run/**")
    assert "docs with" in page.locator("h1").inner_text()
    page.get_by_role("link", name="Other runs of this question").click()
    page.wait_for_url("**/question/**")
    assert page.locator("select[name=outcome]").input_value() == "passed"
    runs = page.locator("table.counted tbody tr:visible")
    assert runs.count() > 0
    assert all("docs with" in text and "passed" in text for text in runs.all_inner_texts())

    page.get_by_role("button", name="Clear").click()
    assert page.locator("table.counted tbody tr:visible").count() == 24


def test_pages_can_be_used_without_scripts(pages: Path, visit: Callable[..., Visit]) -> None:
    page = visit(java_script_enabled=False).page
    page.goto((pages / "site/index.html").as_uri())
    page.get_by_role("link", name="navigation+inherit").first.click()
    page.get_by_role("link", name="docs with claude, 1").click()

    assert page.get_by_role("heading", name="Model calls, as metered").is_visible()


def test_print_shows_what_is_folded(pages: Path, visit: Callable[..., Visit]) -> None:
    page = visit().page
    page.goto((pages / "page.html").as_uri())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")

    assert page.locator("details:not([open])").count() == 0
    assert page.locator("#heatmap tbody tr:visible").count() == 36
    assert not page.locator("nav").first.is_visible()


def test_a_served_page_tells_of_new_results(pages: Path, visit: Callable[..., Visit], tmp_path: Path) -> None:
    """It asks its own server and nobody else."""
    results = Path(shutil.copytree(pages / "results", tmp_path / "results"))
    store = FolderStore(results)
    site = LiveSite(partial(load_site, str(results), store, None), partial(signature, store))
    with open_server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            tab = visit()
            home = f"http://127.0.0.1:{server.server_address[1]}"
            tab.page.goto(f"{home}/runs.html")
            shutil.rmtree(next(results.glob("runs/*/docs/claude/4")))
            tab.page.get_by_role("link", name="Show them").click(timeout=60_000)
            tab.page.get_by_text("143 in all").wait_for(timeout=60_000)
            assert {url.removeprefix(home) for url in tab.asked} == {"/runs.html", "/_version"}
            assert tab.said == []
        finally:
            server.shutdown()
            thread.join()
