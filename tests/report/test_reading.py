"""What analyse accepts and refuses, in the sentences that a user reads."""

from types import ModuleType
from typing import Any

import pytest

from tiltyard_report import analyse, render_markdown
from tiltyard_specs.errors import DataError, UsageError


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": "won"}, "outcome is 'won', it must be one of passed, failed,"),
        ({"question": None}, "question is 'None', it must be a non-empty text"),
        ({"rep": "1"}, "rep is '1', it must be a whole number"),
        ({"seconds": -1}, "seconds is '-1', it must be a number from 0 to 10^15 or null"),
        ({"seconds": float("nan")}, "seconds is 'nan', it must be a number from 0 to 10^15"),
        ({"turns": 10**400}, "turns is 'a number of about 401 digits', it must be"),
        ({"score": {"recall": 7.0}}, "score.recall is '7.0', it must be from 0 to 1"),
        ({"rep": 0}, "rep is '0', it must be a whole number from 1"),
        ({"usage": {"input": -5}}, "usage.input is '-5', it must be from 0 to 10^15"),
        ({"usage": {"output": 10**30}}, "it must be from 0 to 10^15"),
        ({"usage": {"input": "many"}}, "usage.input is 'many', it must be token counts"),
        ({"usage": {"tokens": 5}}, "usage.tokens is '5', it must be token counts"),
        ({"metered": 3}, "metered is '3', it must be an object or null"),
        ({"used_tool": "yes"}, "used_tool is 'yes', it must be true, false or null"),
        ({"warnings": "w"}, "warnings is 'w', it must be a list"),
        ({"schema_version": 2}, "has schema_version 2, this tiltyard reads at most 1; upgrade tiltyard"),
        ({"schema_version": None}, "schema_version is 'None', it must be a whole number"),
    ],
)
def test_a_bad_record_is_named(make: ModuleType, change: dict[str, Any], message: str) -> None:
    """The sentence names the record, the key, the value and the rule."""
    with pytest.raises(DataError) as caught:
        analyse([make.record("a", "plain", "codex", 1), make.record("a", "plain", "codex", 2) | change])

    assert message in str(caught.value)
    assert "Record 1 (a-plain-codex-2)" in str(caught.value)


def test_a_double_is_refused(make: ModuleType) -> None:
    """The same run twice would count twice."""
    with pytest.raises(DataError, match="Records 0 and 1 are both question a, arm plain, agent codex, rep 1"):
        analyse([make.record("a", "plain", "codex", 1)] * 2)


def test_a_record_that_is_no_object() -> None:
    """A truncated file may read as something else."""
    with pytest.raises(DataError, match="Record 0 is str, not an object"):
        analyse(["run"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"baseline": "plan"}, "No record has arm 'plan'; there are: docs, plain. Did you mean 'plain'?"),
        ({"questions": ["b"]}, "No record has question 'b'; there are: a."),
        ({"agents": ["claude"]}, "No record has agent 'claude'; there are: codex, codex@gpt-a@low."),
        ({"receipt": {"runs_expected": "8"}}, "Receipt: runs_expected is '8', it must be a whole number"),
        ({"receipt": {"spec": []}}, "Receipt: spec is '[]', it must be an object"),
        ({"receipt": {"spec": {"arms": {"a": 1}}}}, "Receipt: spec.arms is dict, it must be a list"),
    ],
)
def test_bad_arguments(make: ModuleType, arguments: dict[str, Any], message: str) -> None:
    """An unknown name comes with the known ones."""
    records = [make.record("a", arm, "codex@gpt-a@low", 1) for arm in ("plain", "docs")]
    with pytest.raises(DataError) as caught:
        analyse(records, **arguments)

    assert message in str(caught.value)


def test_bad_confidence() -> None:
    """95 is not 0.95."""
    with pytest.raises(UsageError, match=r"confidence is 95, it must be from 0.5 to 0.999, such as 0\.95"):
        analyse([], confidence=95)


def test_selection(make: ModuleType) -> None:
    """A base name selects its variants; a question is selected by id, whatever its capability."""
    records = [
        make.record("a", "plain", "codex@gpt-a@low", 1, capability="x"),
        make.record("a", "plain", "codex@gpt-b@low", 1, capability="y"),
        make.record("b", "plain", "codex@gpt-a@low", 1),
        make.record("a", "plain", "claude", 1),
    ]
    report = analyse(records, questions=["a"], agents=["codex"])

    assert [agent.agent for agent in report.agents] == ["codex@gpt-a@low", "codex@gpt-b@low"]
    assert [row.question for row in report.questions] == ["x+a", "y+a"]
    assert analyse(records, questions=["x+a"]).runs == 1


def test_a_baseline_without_records_yet(make: ModuleType) -> None:
    """An arm that the spec names is no error: its runs may come."""
    receipt = {"spec": {"arms": [{"name": "plain"}, {"name": "docs"}]}, "runs_expected": 2}
    report = analyse([make.record("a", "docs", "codex", 1)], receipt=receipt, baseline="plain")

    assert report.state == "partial"
    assert not report.agents[0].arms[0].baseline
    assert render_markdown(report).startswith("# PARTIAL: Trial\n")


def test_arms_alike(make: ModuleType) -> None:
    """An A/A trial compares like any other."""
    values = [20_000, 22_000, 25_000, 19_000]
    records = [*make.series("a", "one", "codex", values), *make.series("a", "two", "codex", values[::-1])]
    report = analyse(records)

    assert report.baseline == "one"
    assert report.headline.startswith("two needs 1.00x the tokens of one with codex (95% 0.81 to 1.24)")


def test_foreign_text_brings_no_markup(make: ModuleType) -> None:
    """A reason or a name cannot break a table, close code, or add HTML."""
    records = [*make.series("a|b", "plain", "codex", [1, 2], reason="`x`\n| <img src=y>", outcome="failed")]
    text = render_markdown(analyse(records, receipt={"trial": "<script>"}))

    assert "# \\<script>" in text
    assert "- plain, failed, 2x: `'x' | <img src=y>`" in text


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"policy": {"network": "open"}}, "The network was open"),
        ({"spec": {"network": {"allow": ["h.example"]}}}, "could reach these hosts: h.example"),
    ],
)
def test_network_of_the_receipt(make: ModuleType, facts: dict[str, Any], expected: str) -> None:
    """The report says when the agent could reach more than the meter."""
    report = analyse([make.record("a", "plain", "codex", 1)], receipt=facts)

    assert any(expected in note for note in report.notes)


def test_network_of_the_records(make: ModuleType) -> None:
    """One open run makes the trial open, whatever the receipt says."""
    records = [make.record("a", "plain", "codex", rep) for rep in (1, 2)]
    records[1]["policy"] = {"network": "open", "history": "none", "setup_scope": "image", "limits": {}}
    report = analyse(records, receipt={"policy": {"network": "sealed"}})

    assert any("network was open" in note for note in report.notes)
    records[0]["versions"] = {"model-script": "1"}
    assert any(alert.startswith("SCRIPTED") for alert in analyse(records).alerts)


def test_no_table_of_unknown_tokens(make: ModuleType) -> None:
    """An agent without a meter gets its pass rates by question, and no table that says nothing."""
    records = [make.record(question, "plain", "probe", 1, None) for question in ("a", "b")]
    text = render_markdown(analyse(records))

    assert "## Correct by question" in text
    assert "## Tokens by question" not in text
    records[0] = make.record("a", "plain", "probe", 1)
    assert "## Tokens by question" in render_markdown(analyse(records))
