"""What a large trial costs: results are read by column, raw logs never, and pages stay small."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tiltyard_report import Report, analyse, render_cases_csv, render_json, render_markdown, render_text
from tiltyard_report.html import render_html
from tiltyard_report.pictures import picture_numbers
from tiltyard_report.table_columns import LABELS, USED_COLUMNS
from tiltyard_specs.record_table import COLUMNS, cells

_TYPES = {"whole": pa.int64(), "number": pa.float64(), "flag": pa.bool_(), "texts": pa.list_(pa.string())}


def table_of(records: list[dict[str, Any]]) -> pa.Table:
    """The table of some records, as compacting writes it."""
    kept = [
        {key: value for key, value in each.items() if key not in {"delivered", "block"}} for each in records
    ]
    rows = [cells(record) for record in kept]
    arrays = {
        column.name: pa.array([row[at] for row in rows], _TYPES.get(column.kind, pa.string()))
        for at, column in enumerate(COLUMNS)
    }
    return pa.table(arrays)


def test_the_same_from_a_file_in_batches(trials: ModuleType, tmp_path: Path) -> None:
    """Labels of later batches keep the numbers of earlier ones; two results are two sources."""
    given = trials.ALL["two_agents"]()
    path = tmp_path / "records.parquet"
    pq.write_table(table_of(given["records"]), path)
    with pq.ParquetFile(path, read_dictionary=list(LABELS)) as file:
        batches = file.iter_batches(batch_size=3, columns=list(USED_COLUMNS), use_threads=False)

        assert render_json(analyse(**given | {"records": batches})) == render_json(analyse(**given))


def many(make: ModuleType, questions: int, arms: int, reps: int = 2) -> Report:
    """A trial of many questions; on every seventh the arms differ."""
    records = [
        make.record(
            f"question-{question:05}", f"arm{arm}", "codex", rep, 1000 + 37 * question % 900 + 90 * rep + arm,
            outcome="failed" if (question % 7 == arm) != (rep == 1 and question % 11 == 0) else "passed",
        )
        for question in range(questions)
        for arm in range(arms)
        for rep in range(1, reps + 1)
    ]  # fmt: skip
    return analyse(table_of(records))


@pytest.mark.slow
@pytest.mark.parametrize(("questions", "arms"), [(2000, 2), (60, 20)])
def test_many_questions_and_arms_stay_readable(make: ModuleType, questions: int, arms: int) -> None:
    """A page of at most 1 MB, a report that one scrolls through, and every row in the CSV."""
    report = many(make, questions, arms)

    assert len(render_html(report).encode()) < 1_000_000
    assert len(render_markdown(report).splitlines()) < 900
    assert len(render_text(report).splitlines()) < 900
    rows = render_cases_csv(report).splitlines()
    assert len(rows) == 1 + questions * arms
    compared = rows[0].split(",").index("pass_rate_difference")
    assert all(bool(row.split(",")[compared]) == (",arm0," not in row) for row in rows[1:])


@pytest.mark.slow
def test_of_many_questions_those_that_moved_most_are_drawn(make: ModuleType) -> None:
    """With the count of all, and a title that says how many moved which way."""
    report = many(make, 500, 2)
    tokens, passes = picture_numbers(report).forests

    assert [len(forest.rows) for forest in (tokens, passes)] == [201, 201]
    (moved,) = passes.moved
    sides = [row.cells[1].difference for row in report.questions]
    assert moved.up == sum(side is not None and side.estimate > 0 for side in sides)
    assert moved.down == sum(side is not None and side.estimate < 0 for side in sides)
    assert moved.questions == 500
    drawn = [abs(row.interval.estimate) for row in passes.rows[1:] if row.interval]
    assert drawn == sorted((abs(side.estimate) for side in sides if side), reverse=True)[:200]
    page = render_html(report)
    assert f"of 500 questions {moved.up} pass more often, {moved.down} less often with arm1" in page
    assert any("of 500 questions" in sentence for sentence in report.changes)


_RAW = ("raw.out", "raw.err", "calls.jsonl", "verify.log", "patch.diff", "prompt.txt")
_AUDITED = """
import sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
from tiltyard_cli.report_sources import sources
from tiltyard_report import analyse
with sources([sys.argv[1]], None, by_record=False) as found:
    assert analyse(*(each.records for each in found), receipt=found[0].receipt).runs == 2
print("\\n".join(path for path in opened if path.startswith(sys.argv[1])))
"""


@pytest.mark.slow
def test_no_raw_file_is_opened(make: ModuleType, tmp_path: Path) -> None:
    """Logs may have 200 MB and more: a report reads records alone."""
    for rep in (1, 2):
        record = make.record("a", "plain", "codex", rep, trial="t", run_id=f"{rep:032}")
        del record["delivered"], record["block"], record["reported"], record["metered"]
        folder = tmp_path / "runs" / "a" / "plain" / "codex" / str(rep)
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(record))
        for name in _RAW:
            (folder / name).write_text("log")
    receipt = {
        "schema_version": 1, "trial": "t", "plan_id": "p", "seed": 1, "spec": {}, "runs_expected": 2,
        "order": [f"{rep:032}" for rep in (1, 2)],
    }  # fmt: skip
    (tmp_path / "trial.json").write_text(json.dumps(receipt))
    done = subprocess.run(
        [sys.executable, "-c", _AUDITED, str(tmp_path)], check=True, capture_output=True, text=True
    )
    opened = {Path(line).name for line in done.stdout.splitlines()}

    assert {"trial.json", "run.json"} <= opened
    assert not opened.intersection(_RAW)
