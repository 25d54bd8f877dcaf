"""The other forms of a report: JSON by its schema, CSV, plain text, and tables of records as its source."""

import csv
import io
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jsonschema
import pyarrow as pa
import pytest

from tiltyard_cluster.record_tables import schema
from tiltyard_report import (
    Report,
    analyse,
    render_cases_csv,
    render_csv,
    render_json,
    render_markdown,
    render_text,
)
from tiltyard_report.schema import published, schema_text
from tiltyard_specs.errors import DataError
from tiltyard_specs.record import RunRecord
from tiltyard_specs.record_table import COLUMNS, cells

pytestmark = pytest.mark.slow  # whole reports in every form

NAMES = (
    "two_agents", "partial", "unhealthy", "scripted", "unknown_cost", "one_arm", "all_lost", "audit",
    "many_arms", "broken", "cut_off", "hostile", "claims", "empty",
)  # fmt: skip


def test_the_published_schema_is_that_of_the_model() -> None:
    """`python -m tiltyard_report.schema` writes it anew."""
    assert published() == schema_text()


@pytest.mark.parametrize("name", NAMES)
def test_json_keeps_to_the_schema(name: str, trials: ModuleType) -> None:
    data = json.loads(render_json(analyse(**trials.ALL[name]())))

    jsonschema.Draft202012Validator(json.loads(published())).validate(data)


@pytest.mark.parametrize("render", [render_csv, render_cases_csv])
def test_csv_says_that_a_trial_is_partial(trials: ModuleType, render: Callable[[Report], str]) -> None:
    """In each row, for who reads no headline."""
    for name, partial in (("partial", "true"), ("two_agents", "false")):
        report = analyse(**trials.ALL[name]())
        rows = list(csv.DictReader(io.StringIO(render(report))))

        assert {row["partial"] for row in rows} == {partial}


def test_csv_has_a_row_for_each_arm(trials: ModuleType) -> None:
    """Its numbers are those of the report; unknown is empty."""
    report = analyse(**trials.two_agents())
    rows = list(csv.DictReader(io.StringIO(render_csv(report))))
    arms = [(agent.agent, arm) for agent in report.agents for arm in agent.arms]

    assert [(row["agent"], row["arm"]) for row in rows] == [(agent, arm.arm) for agent, arm in arms]
    for row, (_, arm) in zip(rows, arms, strict=True):
        assert arm.quality is not None
        assert arm.quality.rate is not None
        assert float(row["pass_rate"]) == arm.quality.rate.interval.estimate
        assert row["pass_rate_difference"] == (
            str(arm.delta.passes.interval.estimate) if arm.delta and arm.delta.passes else ""
        )
    assert all(value not in {"nan", "None", "inf"} for row in rows for value in row.values())


def test_the_case_matrix_has_a_row_for_each_question_and_arm(trials: ModuleType) -> None:
    rows = list(csv.DictReader(io.StringIO(render_cases_csv(analyse(**trials.two_agents())))))

    assert {(row["question"], row["agent"], row["arm"]) for row in rows} == {
        ("inherit", "codex", "plain"), ("inherit", "codex", "docs"), ("fix-range", "codex", "plain"),
        ("fix-range", "codex", "docs"), ("inherit", "claude", "plain"), ("inherit", "claude", "docs"),
    }  # fmt: skip
    first = rows[0]
    assert (first["runs"], first["passed"], first["flaky"]) == ("5", "4", "true")


def test_a_spreadsheet_runs_nothing(make: ModuleType) -> None:
    """A name that begins like a formula is text."""
    text = render_csv(analyse(make.series("q", "=cmd|' /C calc'!A0", "+agent", [1000])))

    assert "'=cmd" in text
    assert "'+agent" in text


@pytest.mark.parametrize("name", NAMES)
def test_plain_text_has_no_markup(name: str, trials: ModuleType) -> None:
    """All that Markdown says, without its signs."""
    report = analyse(**trials.ALL[name]())
    text = render_text(report)

    assert report.headline.replace("\n", " ")[:30].split("\x1b")[0] in text
    assert "**" not in text
    assert not any(line.startswith(("#", "|")) for line in text.splitlines())
    assert len(text.split()) <= len(render_markdown(report).split())


def test_many_questions_are_folded_and_sorted(make: ModuleType) -> None:
    """Nobody scrolls through 100 rows: those that moved most stand first, and the rest is counted."""
    records = [
        make.record(
            f"q{index:03}", arm, "codex", rep, outcome="failed" if arm == "docs" and index == 77 else "passed"
        )
        for index in range(100)
        for arm in ("plain", "docs")
        for rep in (1, 2)
    ]
    text = render_markdown(analyse(records, baseline="plain"))
    table = text.split("## Correct by question")[1]

    assert table.split("\n")[4].startswith("| q077 ")
    assert "60 more questions, in which arms differ less" in table


def _arrow(records: list[dict[str, Any]]) -> Any:
    rows = [[*cells(record), None] for record in records]
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(list(column), type=field.type) for column, field in zip(columns, schema(), strict=True)
    ]
    return pa.table(arrays, schema=schema())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"usage": {"input": -5, "output": 1}},
            "usage_input -5 for question a, arm plain, agent codex, rep 2",
        ),
        ({"turns": 10**17}, "turns 1e+17 for question a"),
        ({"score": {"correct": True, "recall": 7.0}}, "score_recall 7 for question a"),
        ({"rep": 0}, "rep 0 for question a"),
    ],
)
def test_a_number_that_no_run_can_have_is_named_in_a_table(
    make: ModuleType, change: dict[str, Any], sentence: str
) -> None:
    """As it is in a record: by its column and its run."""
    plain = {"block": "b", "delivered": None, "reported": None}
    records = [make.record("a", "plain", "codex", rep) | plain for rep in (1, 2, 3)]
    records[1] |= change

    with pytest.raises(DataError) as caught:
        analyse(_arrow(records))
    assert sentence in str(caught.value)


@pytest.mark.parametrize("name", ["two_agents", "unhealthy", "cut_off", "claims", "audit", "many_arms"])
def test_a_table_of_records_makes_the_same_report(name: str, trials: ModuleType) -> None:
    """To the letter, from a table, from its batches, and with old columns alone."""
    arguments = trials.ALL[name]()
    for record in arguments["records"]:
        record |= {"block": "b", "delivered": None, "versions": dict(sorted(record["versions"].items()))}
        record |= {"tool_calls": [{"name": "Bash", "input": "x"}]}
    table = _arrow(arguments.pop("records"))
    records = [_record(row) for row in table.to_pylist()]
    expected = render_json(analyse(records, **arguments))

    assert render_json(analyse(table, **arguments)) == expected
    assert render_json(analyse(table.to_batches(max_chunksize=3), **arguments)) == expected
    assert render_json(analyse(table.drop_columns(["metered_imputed", "place"]), **arguments)) == expected


def test_a_lower_bound_holds_all_priced_calls(make: ModuleType) -> None:
    """Those of a run whose other calls are unknown as well, in records and in their table."""
    records = make.series("a", "plain", "codex", [20_000, 22_000])
    known = records[1]["metered"]["cost_usd"]
    records[0] = make.cut(records[0], 1, 0.5)
    records[0]["metered"]["least_usd"] = 0.25

    for record in records:
        record |= {"block": "b", "delivered": None}

    for rows in (records, _arrow(records)):
        report = analyse(rows)
        assert (report.spend.usd, report.spend.usd_unknown) == (pytest.approx(known + 0.25), 1)


def _record(row: dict[str, Any]) -> dict[str, Any]:
    """A record from a row of a table, by the paths of its columns."""
    record: dict[str, Any] = {"schema_version": 1}
    for column in COLUMNS:
        value = row[column.name]
        if column.name == "tools":
            value = [{"name": name} for name in value or []]
        elif column.kind == "json" and value is not None:
            value = json.loads(value)
        at = record
        for part in column.path[:-1]:
            at = at.setdefault(part, {})
        at[column.path[-1]] = value
    for name in ("score", "verify", "metered", "reported", "usage"):
        record[name] = _pruned(record[name])
    return record


def _pruned(part: dict[str, Any]) -> dict[str, Any] | None:
    """Parts of which nothing is known are null."""
    kept = {name: _pruned(value) if isinstance(value, dict) else value for name, value in part.items()}
    return kept if any(value is not None for value in kept.values()) else None


def test_every_column_of_a_table_is_one_of_a_record() -> None:
    """A field that is renamed in records is renamed in tables too."""
    assert all(column.path[0] in RunRecord.model_fields for column in COLUMNS)
