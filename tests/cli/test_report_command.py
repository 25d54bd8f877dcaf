"""`tiltyard report` on results that are not whole."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two records; the receipt lists both."""
    folder = tmp_path / "results"
    for number in "ab":
        record = {
            "schema_version": 1, "run_id": number * 32, "trial": "t", "question": number, "arm": "plain",
            "agent": "g", "rep": 1, "attempt": 1, "outcome": "passed", "seconds": 1.0,
            "started_at": "2026-01-01T00:00:00Z", "node": "",
        }  # fmt: skip
        path = folder / "runs" / number / "plain" / "g" / "1" / "run.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(record))
    _list(folder, "ab")
    return folder


def _list(folder: Path, numbers: str) -> None:
    receipt = {
        "schema_version": 1, "trial": "t", "plan_id": "p", "seed": 1, "spec": {},
        "order": [number * 32 for number in numbers], "runs_expected": len(numbers),
    }  # fmt: skip
    (folder / "trial.json").write_text(json.dumps(receipt))


def test_a_damaged_record_is_named_after_the_report(tiltyard: Command, results: Path) -> None:
    path = results / "runs/b/plain/g/1/run.json"
    path.write_text(path.read_text()[:50])
    done = tiltyard("report", "results")

    assert done.code == 65
    assert done.out.startswith("# PARTIAL: t")
    assert done.err.startswith("tiltyard: runs/b/plain/g/1/run.json: is cut off or damaged")


def _newer(text: str) -> str:
    return text.replace('"schema_version": 1', '"schema_version": 99')


@pytest.mark.parametrize(
    ("file", "change", "told"),
    [
        ("runs/b/plain/g/1/run.json", _newer, "b/plain/g/1/run.json was written by a newer Tiltyard"),
        ("runs/b/plain/g/1/run.json", lambda _: "[]", "runs/b/plain/g/1/run.json"),
        (
            "runs/b/plain/g/1/run.json",
            lambda text: text.replace('"trial": "t"', '"trial": "u"'),
            "left out 1 record of 'u': trial.json is that of 't'",
        ),
        ("trial.json", _newer, "trial.json was written by a newer Tiltyard (schema version 99,"),
        ("trial.json", lambda text: text[:40], "trial.json: is cut off or damaged"),
    ],
    ids=["newer record", "no record", "record of another trial", "newer receipt", "damaged receipt"],
)
def test_bad_input_is_one_sentence_and_the_rest_is_printed(
    tiltyard: Command, results: Path, file: str, change: Callable[[str], str], told: str
) -> None:
    """65, and the run that can be read stands in the report."""
    path = results / file
    path.write_text(change(path.read_text()))
    done = tiltyard("report", "results")

    assert done.code == 65
    assert told in done.err
    assert done.err.count("\n") == 1
    assert "passed in 1/1 runs" in done.out or "passed in 2/2 runs" in done.out


@pytest.mark.parametrize(
    ("name", "told"), [("none", "holds no trial"), ("nowhere", "there is no such folder")]
)
def test_what_is_no_result_is_one_sentence(tiltyard: Command, tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "none").mkdir()
    done = tiltyard("report", name)

    assert (done.code, done.out, done.err.count("\n")) == (65, "", 1)
    assert told in done.err


def test_records_of_an_older_spec_are_left_out_with_a_note(tiltyard: Command, results: Path) -> None:
    """Nothing is wrong with them: exit 0."""
    _list(results, "a")
    done = tiltyard("report", "results")

    assert done.code == 0
    assert done.out.startswith("# t")
    assert done.err == (
        "tiltyard: left out 1 records of runs that trial.json does not list: the spec has changed\n"
    )


def test_whole_results_need_no_note(tiltyard: Command, results: Path) -> None:
    done = tiltyard("report", results.name)

    assert (done.code, done.err) == (0, "")
