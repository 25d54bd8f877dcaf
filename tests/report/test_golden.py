"""The Markdown of hand-made trials, to the letter. To renew a file, delete it, run the tests, review it."""

import json
import re
from itertools import pairwise
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tiltyard_report import SCHEMA_VERSION, analyse, render_json, render_markdown

GOLDEN = Path(__file__).parent / "golden"
NAMES = (
    "two_agents",
    "partial",
    "unhealthy",
    "scripted",
    "unknown_cost",
    "one_arm",
    "reported_tokens",
    "all_lost",
    "audit",
    "audit_alone",
    "many_arms",
    "broken",
    "cut_off",
    "hostile",
    "claims",
    "empty",
)


@pytest.mark.parametrize("name", NAMES)
def test_markdown(name: str, trials: ModuleType) -> None:
    """Every letter of the report is as it was reviewed."""
    text = render_markdown(analyse(**trials.ALL[name]()))
    path = GOLDEN / f"{name}.md"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path} was missing; it is written now: review it")

    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_report_keeps_the_rules(name: str, trials: ModuleType) -> None:
    """A headline first, a do-not-claim line, aligned tables, and no number that the data do not give."""
    text = render_markdown(analyse(**trials.ALL[name]()))
    lines = text.splitlines()

    assert lines[0].startswith("# ")
    assert lines[2].startswith("**")
    assert lines[2].endswith(".**")
    assert "\n## Do not claim\n\n- Anything" in text
    assert not any(word in text for word in ("nan", "inf ", "None", "p=0.000", "$0.0000"))
    for previous, line in pairwise(lines):
        if previous.startswith("|") and line.startswith("|"):
            assert len(previous) == len(line)
            assert len(line) <= 100


@pytest.mark.parametrize("name", NAMES)
def test_a_headline_is_short_and_plain(name: str, trials: ModuleType) -> None:
    """Two sentences of at most 60 words together."""
    headline = analyse(**trials.ALL[name]()).headline

    assert len(headline.split()) <= 60
    assert len(re.findall(r"\.(?= |$)", headline)) <= 2
    assert "comparisons (" not in headline


def test_every_trial_has_a_golden_file(trials: ModuleType) -> None:
    """No trial is forgotten and no file is stale."""
    assert set(NAMES) == set(trials.ALL) == {path.stem for path in GOLDEN.glob("*.md")}


@pytest.mark.parametrize("name", NAMES)
def test_json(name: str, trials: ModuleType) -> None:
    """The JSON form is versioned, strict, and holds what the Markdown says."""
    report = analyse(**trials.ALL[name]())
    data = json.loads(render_json(report), parse_constant=pytest.fail)

    assert data["schema_version"] == SCHEMA_VERSION
    assert data["headline"] == report.headline
    assert data["do_not_claim"] == list(report.do_not_claim)
    assert all(isfinite(number) for number in _numbers(data))
    for agent, plain in zip(report.agents, data["agents"], strict=True):
        for row, cells in zip(agent.arms, plain["arms"], strict=True):
            assert cells["runs"] == row.runs
            if row.runs:
                assert cells["correct"]["interval"]["method"] == "wilson"


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return _numbers(list(value.values()))
    if isinstance(value, list):
        return [number for item in value for number in _numbers(item)]
    return [value] if isinstance(value, int | float) else []
