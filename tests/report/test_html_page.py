"""The one-page report as text: its order, its size, and that it asks nobody for anything."""

import html
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from tiltyard_report import analyse, render_markdown
from tiltyard_report.html import render_html
from tiltyard_report.html.dialect import Table, sections


def test_every_section_of_markdown_is_a_section_of_the_page(trials: ModuleType) -> None:
    """All cells of all tables are there, in their order."""
    for name in ("audit", "claims", "unhealthy", "one_arm"):
        markdown = render_markdown(analyse(**trials.ALL[name]()))
        titles = re.findall(r"(?m)^## (.*)$", markdown)
        found = sections(markdown)

        assert [part.title for part in found] == [re.sub(r"\\(.)", r"\1", title) for title in titles]
        tables = [block for part in found for block in part.blocks if isinstance(block, Table)]
        assert tables
        for table in tables:
            assert all(len(row) == len(table.head) == len(table.numeric) for row in table.rows)


def test_a_table_that_was_split_for_a_terminal_is_one_again() -> None:
    text = "# t\n\n## S\n\n| a | b |\n| --- | --: |\n| x | 1 |\n\n| a | c |\n| --- | --- |\n| x | 2 |\n"
    (part,) = sections(text)

    assert part.blocks == (Table(("a", "b", "c"), (False, True, False), (("x", "1", "2"),)),)


def test_tables_of_other_rows_stay_apart() -> None:
    text = "## S\n\n| a | b |\n| --- | --: |\n| x | 1 |\n\n| a | c |\n| --- | --- |\n| y | 2 |\n"

    assert len(sections(text)[0].blocks) == 2


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        (r"a \| b \<i\>", "a | b &lt;i\\&gt;"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("*x* and **y \\* z**", "<em>x</em> and <strong>y * z</strong>"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        (r"\\x1b\[2J", "\\x1b[2J"),
        ("\x1b[2J \u202e", "\\x1b[2J \\u202e"),
    ],
)
def test_inline_marks(markdown: str, expected: str) -> None:
    """What Markdown escapes is text again, and is escaped as HTML does."""
    (part,) = sections(f"## S\n\n{markdown}\n")

    assert part.blocks[0].lines == (expected,)  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_page_begins_with_the_sentence_and_then_what_changed(trials: ModuleType) -> None:
    report = analyse(**trials.two_agents())
    page = render_html(report)
    order = [
        html.escape(report.headline, quote=False),
        "What changed most",
        'id="pictures"',
        'id="forest-tokens"',
        "<h2>With codex</h2>",
        "<h2>Do not claim</h2>",
    ]
    places = [page.index(text) for text in order]

    assert places == sorted(places)


@pytest.mark.slow
def test_the_page_names_no_place_but_itself(trials: ModuleType) -> None:
    """No address, no style or script from elsewhere; the policy allows none either."""
    page = render_html(analyse(**trials.two_agents()))

    assert not re.search(r"https?://|//[a-z]+\.|<link (?!rel=\"icon\" href=\"data:,\")|<img|src=", page)
    assert "default-src &#39;none&#39;" in page
    assert "connect-src" not in page


@pytest.mark.slow
def test_names_of_a_hostile_trial_are_text(trials: ModuleType) -> None:
    page = render_html(analyse(**trials.hostile()))
    visible = page.replace("</script>", "", 1)

    assert "</script>" not in visible
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


@pytest.mark.slow
def test_ids_stand_once_in_a_page(trials: ModuleType) -> None:
    """Pictures share names of their parts; a reference must not reach into another one."""
    page = render_html(analyse(**trials.two_agents()))
    ids = re.findall(r'\bid="([^"]+)"', page)

    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', page)) <= set(ids)


@pytest.mark.slow
def test_fifty_questions_fit_in_a_megabyte(sample: ModuleType) -> None:
    """1,200 runs of three arms with two agents."""
    records = list(sample.records(50, 4))
    page = render_html(analyse(json.loads(json.dumps(records)), baseline="plain"))

    assert len(page.encode()) < 1_000_000
    assert page.count("<figure") == 7


def test_the_script_is_the_one_that_the_policy_names() -> None:
    """No `</script` in it, which would end it early."""
    source = Path(__file__).parents[2] / "stats/tiltyard_report/html/templates/page.js"

    assert "</script" not in source.read_text().lower()
