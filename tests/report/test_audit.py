"""The oracle and nop audit the questions; they never compete."""

import json
from types import ModuleType
from typing import Any

import pytest

from tiltyard_report import Report, analyse, render_json, render_markdown


@pytest.fixture
def report(trials: ModuleType) -> Report:
    """Two competitors, an oracle and a nop."""
    return analyse(**trials.audit())


def reference(make: ModuleType, kind: str, *outcomes: str, **changes: Any) -> list[dict[str, Any]]:
    """Runs of the oracle or nop on one question."""
    return [
        make.record("fix", "plain", kind, rep, None, kind=kind, outcome=outcome, **changes)
        for rep, outcome in enumerate(outcomes, 1)
    ]


def test_they_are_in_no_comparison(report: Report) -> None:
    """No table, no total and no correction for multiple comparisons knows them."""
    assert [agent.agent for agent in report.agents] == ["codex", "claude"]
    assert [row.question for row in report.questions] == ["inherit"]
    assert (report.runs, report.spend.runs, report.counted) == (16, 16, 16)
    assert any("2 comparisons (Holm)" in line for line in report.methods)
    assert sum(item.count for row in report.outcomes for item in row.counts) == 16


def test_counts(report: Report) -> None:
    """Passes of runs that count, and the lost ones apart; also in JSON."""
    rows = {row["question"]: row for row in json.loads(render_json(report))["audit"]}

    assert rows["fix-range"]["oracle"] == {"passed": 2, "n": 2, "lost": 0}
    assert rows["fix-padding"]["oracle"] == {"passed": 1, "n": 1, "lost": 1}
    assert rows["fix-padding"]["nop"] == {"passed": 2, "n": 2, "lost": 0}
    assert rows["fix-range"]["findings"] == []


@pytest.mark.parametrize(
    ("kind", "outcomes", "finding"),
    [
        ("nop", ["passed"], "nop passed fix: doing nothing is enough, so the question proves nothing."),
        ("nop", ["passed", "failed"], "nop passed fix in 1 of 2 runs: doing nothing is sometimes enough"),
        ("oracle", ["failed", "tampered"], "oracle failed fix: the reference solution does not pass (why)."),
        ("oracle", ["passed", "failed"], "oracle passed fix in only 1 of 2 runs"),
        ("oracle", ["infra"], "oracle says nothing about fix: its only run was lost (why)."),
        ("nop", ["infra", "infra"], "nop says nothing about fix: all its 2 runs were lost (why)."),
    ],
)
def test_findings(make: ModuleType, kind: str, outcomes: list[str], finding: str) -> None:
    """Each fault in a plain sentence."""
    report = analyse(reference(make, kind, *outcomes, reason="why."))

    assert report.audit[0].findings[0].startswith(finding)
    assert finding in render_markdown(report)
    assert any(alert.startswith("AUDIT: 1 question not cleared (fix)") for alert in report.alerts)
    assert report.headline.startswith("The audit did not clear 1 of 1 question (fix).")


def test_a_sound_question_has_no_finding(make: ModuleType) -> None:
    """The reference passes and doing nothing does not."""
    report = analyse([*reference(make, "oracle", "passed"), *reference(make, "nop", "no_answer")])

    assert report.audit[0].findings == ()
    assert report.alerts == ()
    assert report.healthy
    assert report.state == "complete"
    assert report.headline.startswith("The audit found nothing wrong with 1 question.")


def test_they_can_be_selected(trials: ModuleType) -> None:
    """`--agent` knows them like any other."""
    report = analyse(**trials.audit(), agents=["oracle-agent"])

    assert report.agents == ()
    assert [row.nop for row in report.audit] == [None] * 3


def test_planned_runs_include_them(trials: ModuleType) -> None:
    """A trial is not partial because its audits stand apart."""
    arguments = trials.audit()
    missing = arguments | {"records": arguments["records"][:-1]}

    assert analyse(**arguments).state == "complete"
    assert analyse(**missing).alerts[0].startswith("PARTIAL: 27 runs of 28 planned")


def test_lost_competitors_beside_sound_audits(make: ModuleType) -> None:
    """Audits do not make a trial healthy in which no agent worked."""
    lost = make.record("fix", "plain", "codex", 1, None, outcome="infra", reason="no engine")
    report = analyse([lost, *reference(make, "oracle", *["passed"] * 40)])

    assert not report.healthy
    assert report.headline.startswith("The only run was lost (1 infra: no engine)")
