"""Row files: what of them is read, and one sentence for each way to be wrong."""

from pathlib import Path

import pytest

from tiltyard_formats import read_rows, row_records
from tiltyard_report import analyse
from tiltyard_specs.errors import DataError

GOOD = '{"arm": "a", "run": 1, "case": "c", "passed": true'


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def test_a_row_becomes_a_record(rows: Path) -> None:
    """Every key that a report uses, and unknown stays unknown."""
    rows.write_text(
        GOOD + ', "cost_usd": 0.5, "input_tokens": 70, "output_tokens": 30, "steps": 4, "tool_calls": 2, '
        '"latency_s": 12.5, "tags": ["feature:search"], "own": 1}\n\n'
        '{"arm": "b", "run": 1, "case": "c", "passed": false, "no_answer": "step_limit"}\n'
        '{"arm": "b", "run": 2, "case": "c", "passed": null, "infra_error": "529"}\n'
        '{"arm": "b", "run": 3, "case": "c", "checks": {"lint": true}}\n'
    )
    records, left_out = row_records(read_rows(rows))
    report = analyse(records, baseline="a")
    ours, theirs = report.agents[0].arms

    assert left_out == 1
    assert [record["outcome"] for record in records] == ["passed", "no_answer", "infra"]
    assert (ours.runs, theirs.runs, theirs.excluded) == (1, 1, 1)
    assert [
        measure.interval.estimate if measure.interval else None
        for measure in (ours.tokens, ours.usd, ours.seconds, ours.turns, ours.tool_calls)
    ] == [100.0, 0.5, 12.5, 4.0, 2.0]
    assert theirs.tokens.interval is None


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"arm": "a", "run": 1, "case"', "rows.jsonl:2: is no JSON, it may be cut off"),
        ("[1]", "rows.jsonl:2: is list, a row must be an object"),
        ('{"arm": "a", "case": "c"}', "rows.jsonl:2: run is missing"),
        (GOOD.replace("1", "0") + "}", "rows.jsonl:2: run is 0: Input should be greater than or equal to 1"),
        (GOOD.replace("true", '"yes"') + "}", "rows.jsonl:2: passed is 'yes'"),
        (GOOD + ', "cost_usd": NaN}', "rows.jsonl:2: cost_usd is nan"),
        (GOOD + ', "cost_usd": 1e300}', "rows.jsonl:2: cost_usd is 1e+300"),
        (GOOD + f', "input_tokens": 1{400 * "0"}}}', "rows.jsonl:2: input_tokens is a number of about 401"),
        (GOOD + f', "input_tokens": 1{5000 * "0"}}}', "rows.jsonl:2: "),
        (GOOD + ', "run": 2}', "rows.jsonl:2: a key stands there twice"),
        (GOOD + "}", "rows.jsonl:2: is case c, arm a, run 1 once more, which stands at"),
        (GOOD + ', "schema_version": 2}', "rows.jsonl:2: schema_version is 2, this tiltyard reads at most 1"),
    ],
)
def test_an_error_names_file_line_and_field(rows: Path, line: str, sentence: str) -> None:
    rows.write_text(f"{GOOD}}}\n{line}\n")

    with pytest.raises(DataError) as caught:
        read_rows(rows)
    assert sentence in str(caught.value)
    problems: list[str] = []
    assert len(read_rows(rows, problems)) == 1
    assert [sentence in each for each in problems] == [True]


def test_an_empty_or_binary_file_is_no_row_file(rows: Path) -> None:
    rows.write_text("\n")
    with pytest.raises(DataError, match="holds no row"):
        read_rows(rows)
    rows.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        read_rows(rows)
