"""The site: which pages there are, that every link leads somewhere, and that hostile output stays text."""

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tiltyard_report import analyse
from tiltyard_report.site import RunFile, Site, write_site
from tiltyard_report.site.calls import read_calls
from tiltyard_report.site.diff import diff_lines
from tiltyard_specs.errors import UsageError

HOSTILE = (
    "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31mred\x1b[0m \u202egnp.exe"
)


class Files:
    """Files of runs by name, the same for each run."""

    def __init__(self, **files: bytes) -> None:
        self.files = {name.replace("_", "."): data for name, data in files.items()}
        self.asked: list[tuple[str, int]] = []

    def read(self, _: Mapping[str, object], name: str, limit: int) -> RunFile | None:
        self.asked.append((name, limit))
        data = self.files.get(name)
        return None if data is None else RunFile(data[:limit], len(data) <= limit, len(data))


@pytest.fixture(scope="module")
def runs(sample: ModuleType) -> list[dict[str, Any]]:
    """Runs of six questions in two capabilities."""
    return list(sample.records(6, 2))


def site_of(runs: list[dict[str, Any]], files: Files | None = None, **more: Any) -> Site:
    plain = any(run["arm"] == "plain" for run in runs)
    return Site(analyse(runs, baseline="plain" if plain else None), runs, files or Files(), **more)


def run_page(record: dict[str, Any], files: Files | None = None, **more: Any) -> str:
    site = site_of([record], files, **more)
    (path,) = (path for path in site.paths() if path.startswith("run/"))
    return site.page(path) or ""


def test_a_run_page_shows_all_that_was_kept(runs: list[dict[str, Any]]) -> None:
    record = next(run for run in runs if run["capability"] == "navigation" and run["outcome"] == "failed")
    call = {"index": 1, "model": "gpt-x", "role": "asked-for", "status": 529, "outcome": "error",
            "usage": {"input": 7001, "cache_read": None, "output": 12}, "cost_usd": 0.25}  # fmt: skip
    files = Files(
        prompt_txt=b"Which classes?",
        calls_jsonl=json.dumps(call).encode() + b"\nnot json\n",
        patch_diff=b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n",
        verify_log=b"3 failed",
        raw_out=b"raw output",
    )
    page = run_page(record | {"verify": None}, files)

    for text in (
        "Which classes?",
        record["answer"],
        "the check did not pass",
        r"<code>\bArgument\b</code>",
        "rg -n &#39;class .*Parameter&#39; src",
        "gpt-x",
        "asked for asked-for",
        "529 error",
        "7,001",
        "$0.25",
        "1 lines of calls.jsonl cannot be read",
        '<span class="del">-old</span>',
        '<span class="add">+new</span>',
        "3 failed",
        "raw output",
        "network",
        "2.0 GiB",
        record["images"]["arm"]["id"],
        "recall 0.500",
    ):
        assert text in page, text
    assert page.index("rg -n") < page.index("src/app/ranges.py")


def test_earlier_attempts_stand_on_the_page_of_their_run(runs: list[dict[str, Any]]) -> None:
    attempt = runs[0] | {"outcome": "infra", "reason": "529, overloaded", "attempt": 1}

    assert "Attempt 1: infra, 529, overloaded" in run_page(runs[0], attempts=[attempt])


def test_what_an_agent_writes_is_shown_and_never_obeyed(runs: list[dict[str, Any]]) -> None:
    """Markup, terminal sequences and overrides in every place that an agent can write to."""
    data = HOSTILE.encode() + b"\xff\xfe\x00"
    files = Files(prompt_txt=data, calls_jsonl=data, patch_diff=b"+" + data, verify_log=data, raw_out=data)
    record = runs[0] | {
        "answer": HOSTILE,
        "reason": HOSTILE,
        "warnings": [HOSTILE],
        "tampered": [HOSTILE],
        "tool_calls": [{"name": HOSTILE, "input": {HOSTILE: HOSTILE}}, {"name": "x", "input": HOSTILE}],
    }
    page = run_page(record, files)

    assert page.count("<script") == page.count("</script>") == 1
    assert "<img" not in page
    assert "&lt;img src=x" in page
    assert r"\x1b[31mred\x1b[0m \u202egnp.exe" in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


@pytest.mark.slow
def test_hostile_names_keep_to_their_place(make: ModuleType) -> None:
    """A name is data in the list of all runs as well, and a safe path in the site."""
    names = {"question": "q</script><b>", "arm": "../../up", "agent": "a\u202e%2e%2e/x?y#z"}
    runs = [
        make.record("q", "a", "g", 1) | names,
        make.record("q", "plain", "g", 1) | {"agent": names["agent"]},
    ]
    site = site_of(runs)

    for path in site.paths():
        assert re.fullmatch(r"[A-Za-z0-9@._+/-]+", path), path
        assert ".." not in path
        page = site.page(path) or ""
        assert "<b>" not in page
        assert page.count("</script>") == (2 if path == "runs.html" else 1)
    found = re.search(r'id="runs-data">(.*?)</script>', site.page("runs.html") or "")
    assert found is not None
    data = json.loads(found[1])
    assert names["arm"] in [arm for arm, _ in data["arms"]]
    assert [agent for agent, _ in data["agents"]] == [names["agent"]]


def test_long_files_are_cut_with_a_note(runs: list[dict[str, Any]]) -> None:
    """Ten megabytes of log make no page of ten megabytes, and are not even read."""
    log = b"x" * 99 + b"\n"
    files = Files(raw_out=log * 100_000, verify_log=log * 100_000, patch_diff=b"+a line\n" * 100_000)
    page = run_page(runs[0] | {"answer": "y" * 200_000}, files)

    assert len(page) < 1_000_000
    assert "Cut: the first 62.5 KiB of 9.5 MiB are shown." in page
    assert "Cut: the first 250.0 KiB of 781.2 KiB are shown." in page
    assert "Cut: 64,000 of 200,000 characters are shown." in page
    assert max(limit for _, limit in files.asked) <= 1_000_000


@pytest.mark.slow
def test_every_link_leads_to_a_page(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    """Relative ones, so that any folder or bucket can serve them; filters in them name what there is."""
    site = site_of(runs, version=None)
    write_site(site, tmp_path / "site")
    paths = set(site.paths())
    seen = set()
    for path in paths:
        page = (tmp_path / "site" / path).read_text()
        for href in re.findall(r'<a [^>]*href="([^"#]+)"', page):
            link = urlsplit(href.replace("&amp;", "&"))
            assert not link.scheme
            assert not href.startswith("/")
            target = _joined(path, link.path)
            assert target in paths, (path, href)
            seen.add(target)
            for key, (value,) in parse_qs(link.query).items():
                assert any(value in (run[key], f"{run['capability']}+{run[key]}") for run in runs)

    linked_by_script = {path for path in paths if path.startswith("run/")}
    assert seen | linked_by_script == paths
    assert {path.split("/")[0] for path in paths} == {
        "index.html", "runs.html", "arm", "capability", "question", "run",
    }  # fmt: skip


def _joined(page: str, href: str) -> str:
    parts: list[str] = list(PurePosixPath(page).parent.parts)
    for part in href.split("/"):
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def test_pages_ask_for_news_only_where_they_are_served(runs: list[dict[str, Any]]) -> None:
    written, served = site_of(runs), site_of(runs, version="abc")

    assert '<meta name="tiltyard-version"' not in (written.page("runs.html") or "")
    assert "connect-src" not in (written.page("runs.html") or "")
    assert '<meta name="tiltyard-version" content="abc">' in (served.page("runs.html") or "")


def test_a_folder_of_something_else_is_left_alone(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<h1>mine</h1>")

    with pytest.raises(UsageError, match="holds something else"):
        write_site(site_of(runs), tmp_path)
    assert (tmp_path / "index.html").read_text() == "<h1>mine</h1>"


@pytest.mark.slow
def test_pages_of_runs_that_are_gone_are_removed(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    """What somebody else put there stays."""
    out = tmp_path / "site"
    before = write_site(site_of(runs), out)
    (out / "notes.html").write_text("mine")
    after = write_site(site_of(runs[:-3]), out)

    assert after == before - 3
    assert len(list(out.rglob("*.html"))) == after + 1
    assert (out / "notes.html").read_text() == "mine"


@pytest.mark.slow
def test_thousands_of_runs_are_written_page_by_page(sample: ModuleType, tmp_path: Path) -> None:
    """Each record is asked for when its page is made, never all at once."""
    site = site_of(list(sample.records(20, 9)))

    assert write_site(site, tmp_path / "site") == 20 * 9 * 6 + 20 + 3 + 2 + 2
    assert (tmp_path / "site/runs.html").stat().st_size < 200_000


def test_a_removed_line_that_looks_like_a_head_is_removed() -> None:
    lines, total = diff_lines(
        "diff --git a/q b/q\n--- a/q\n+++ b/q\n@@ -1,2 +1 @@\n--- a comment\n+++ b\n x\n"
    )

    assert [line.kind for line in lines] == ["file", "file", "file", "hunk", "del", "add", ""]
    assert total == 7


@pytest.mark.parametrize("line", ["[" * 5000, "null", '"x"', '{"usage": 3, "cost_usd": "x", "index": true}'])
def test_odd_lines_of_calls_do_no_harm(line: str) -> None:
    found = read_calls(line + "\n")

    assert len(found.calls) + found.damaged == 1
    assert all(call.usd is None and call.input is None for call in found.calls)


def test_an_overview_of_thousands_of_questions_stays_readable(make: ModuleType) -> None:
    """It lists the first ones and says where the others are; each has its page all the same."""
    runs = [make.record(f"q{place:04}", arm, "g", 1) for place in range(600) for arm in ("plain", "docs")]
    site = site_of(runs)
    page = site.page("arm/docs.html") or ""

    assert page.count('<th scope="row">') == 500
    assert "100 more questions are in the" in page
    assert site.page("question/q0599.html")


def test_pages_of_arms_and_capabilities_have_the_numbers_of_the_report(runs: list[dict[str, Any]]) -> None:
    """How an arm compares, with its verdict; what the arms did in a capability, a mean run each."""
    site = site_of(runs)
    row = site.report.agents[0].arms[1]
    assert row.relative_tokens
    ratio = row.relative_tokens.ratio
    assert ratio
    group = next(group for arm in site.report.groups for group in arm.groups if group.name == "change")
    assert group.tokens.interval
    assert group.correct

    arm, capability = site.page(f"arm/{row.arm}.html") or "", site.page("capability/change.html") or ""
    assert f"<dd>{ratio.estimate:.2f}x ({ratio.low:.2f} to {ratio.high:.2f}), " in arm
    assert "Passes beside the baseline&#39;s" in arm
    assert f'<td class="n">{group.correct.successes}/{group.correct.n}</td>' in capability
    assert f'<td class="n">{group.tokens.interval.estimate:,.0f}</td>' in capability


def test_a_run_that_called_no_model_has_no_table_of_calls(runs: list[dict[str, Any]]) -> None:
    """As those of text agents."""
    assert "Model calls" not in run_page(runs[0], Files(calls_jsonl=b""))
    assert "Model calls" in run_page(runs[0], Files(calls_jsonl=b'{"index": 1}\n'))
