"""`tiltyard report` with its options, on several results, row files and bad input; `tiltyard rescore`."""

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cluster.layout import TABLE_FILE
from tiltyard_cluster.record_tables import TableWriter
from tiltyard_report import analyse
from tiltyard_specs.manifest import FileFact, Manifest

Command = Callable[..., Any]
SPEC = """\
name: small
defaults: {reps: 3}
arms:
  - name: plain
  - name: docs
agents:
  - {name: probe, kind: text, command: "echo 4"}
questions:
  - {id: sum, prompt: "2+2?", expect: ["KEY"]}
  - {id: made, prompt: "Make it.", verify: "true"}
"""


def record(question: str, arm: str, rep: int, outcome: str, answer: str, **changes: Any) -> dict[str, Any]:
    run_id = f"{question}{arm}{rep}".ljust(32, "0")
    return {
        "schema_version": 1, "run_id": run_id, "trial": "small", "question": question, "arm": arm,
        "agent": "probe",
        "rep": rep, "attempt": 1, "outcome": outcome, "answer": answer, "seconds": 1.0 + rep,
        "started_at": "2026-01-01T00:00:00Z", "node": "", "kind": "text",
    } | changes  # fmt: skip


def write(folder: Path, records: list[dict[str, Any]], name: str = "small") -> None:
    """A results folder."""
    for each in records:
        path = folder / f"runs/{each['question']}/{each['arm']}/probe/{each['rep']}/run.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(each))
    receipt = {
        "schema_version": 1, "trial": name, "plan_id": "p", "seed": 1,
        "spec": {"defaults": {"baseline": "plain"}},
        "order": [each["run_id"] for each in records], "runs_expected": len(records),
    }  # fmt: skip
    (folder / "trial.json").write_text(json.dumps(receipt))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two arms, three repetitions, answers 4 and 5, and a question that a command decides."""
    verify = {"command": "true", "exit_code": 0, "passed": True, "seconds": 0.1}
    write(
        tmp_path / "results",
        [
            *(record("sum", "plain", rep, "failed", "5") for rep in (1, 2, 3)),
            *(record("sum", "docs", rep, "passed", "4") for rep in (1, 2, 3)),
            record("made", "plain", 1, "passed", "x", verify=verify),
        ],
    )
    return tmp_path / "results"


def test_formats(tiltyard: Command, results: Path) -> None:
    """Markdown when piped; the others when asked for, also by the name of a file."""
    assert tiltyard("report", "results").out.startswith("# small\n\n**")
    assert tiltyard("report", "results", "--format", "text").out.startswith("small\n=====\n")
    rows = list(csv.DictReader(io.StringIO(tiltyard("report", "results", "--format", "csv").out)))
    assert [row["arm"] for row in rows] == ["plain", "docs"]
    cases = list(csv.DictReader(io.StringIO(tiltyard("report", "results", "--format", "cases").out)))
    assert [(row["question"], row["arm"]) for row in cases] == [
        ("made", "plain"), ("sum", "plain"), ("sum", "docs"),
    ]  # fmt: skip
    assert tiltyard("report", "results", "--out", "r.json").out == ""
    assert json.loads((results.parent / "r.json").read_text())["schema_version"] == 1


def test_the_summary_of_a_job_gets_the_markdown(tiltyard: Command, results: Path) -> None:
    """Added at its end, whatever is printed."""
    summary = results.parent / "summary.md"
    summary.write_text("before\n")
    tiltyard("report", "results", "--json", GITHUB_STEP_SUMMARY=str(summary))

    assert summary.read_text().startswith("before\n# small\n")


def test_several_results_are_several_runs(tiltyard: Command, results: Path) -> None:
    """And one of another trial, or one that is none, is named and left out: 65, the rest is printed."""
    again = results.parent / "again"
    later = "2026-01-02T00:00:00Z"
    write(again, [record("sum", arm, 1, "passed", "4", started_at=later) for arm in ("plain", "docs")])
    write(results.parent / "other", [record("sum", "plain", 1, "passed", "4")], name="other")
    good = tiltyard("report", "results", "again", "--json")
    data = json.loads(good.out)
    bad = tiltyard("report", "results", "other", "nowhere")

    assert (good.code, good.err) == (0, "")
    assert (data["sources"], data["runs"], data["state"]) == (2, 9, "complete")
    assert bad.code == 65
    assert "other is of trial 'other' and not of 'small', so it is left out" in bad.err
    assert "nowhere" in bad.err
    assert bad.out.startswith("# small")


@pytest.mark.parametrize("again", ["results", "./results/", "copy", "part"])
@pytest.mark.parametrize("first", [True, False])
def test_a_result_that_is_given_twice_counts_once(
    tiltyard: Command, results: Path, again: str, *, first: bool
) -> None:
    """The same folder, a copy, and a part of it, in either order: the numbers are those of the whole."""
    shutil.copytree(results, results.parent / "copy")
    write(results.parent / "part", [record("sum", "docs", rep, "passed", "4") for rep in (1, 2)])
    alone = json.loads(tiltyard("report", "results", "--json").out)
    both = tiltyard("report", *(("results", again) if first else (again, "results")), "--json")
    data = json.loads(both.out)

    assert both.code == 0
    assert "once more: they are counted once" in both.err or "dropped 2 identical records" in both.err
    for key in ("runs", "sources", "state", "headline", "questions", "agents"):
        assert data[key] == alone[key], key


def test_two_accounts_of_one_start_are_refused(tiltyard: Command, results: Path) -> None:
    """Which of them is true is not to be guessed."""
    write(results.parent / "edited", [record("sum", "plain", 1, "passed", "4")])
    done = tiltyard("report", "results", "edited")

    assert (done.code, done.out) == (65, "")
    assert "results and edited differ on run sumplain1" in done.err


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"turns": 10**400}, "turns: must be from 0 to 10^15, got a number of about 401 digits"),
        ({"seconds": -5}, "seconds: must be from 0 to 10^15, got -5"),
        ({"score": {"correct": True, "recall": 7.0}}, "score.recall: must be from 0 to 1, got 7.0"),
        ({"question": "made"}, "holds the record of runs/made/docs/probe/3, so it is left out"),
    ],
)
def test_one_bad_record_is_named_and_the_rest_is_printed(
    tiltyard: Command, results: Path, changes: dict[str, Any], sentence: str
) -> None:
    """A number that no run can have, and the record of another run in its place."""
    path = results / "runs/sum/docs/probe/3/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    done = tiltyard("report", "results")

    assert done.code == 65
    assert f"tiltyard: runs/sum/docs/probe/3/run.json: {sentence}\n" in done.err
    assert "PARTIAL: 6 runs of 7 planned are recorded" in done.out


def test_row_files_are_read(tiltyard: Command, tmp_path: Path) -> None:
    """Passes alone: the first sentence speaks of them."""
    rows = [
        {"arm": arm, "run": run, "case": case, "passed": passed}
        for arm, passed in (("old", True), ("new", False))
        for run in (1, 2, 3, 4)
        for case in "ab"
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = tiltyard("report", "rows.jsonl", "--baseline", "old")

    assert done.code == 0
    assert "**new passes 100.0 points less often than old with agent (95%" in done.out
    assert tiltyard("report", "missing.jsonl").err == "tiltyard: missing.jsonl does not exist\n"
    bad = {"arm": "old", "run": 9, "case": "a", "passed": True, "input_tokens": 10**400}
    with (tmp_path / "rows.jsonl").open("a") as file:
        file.write(json.dumps(bad) + "\n" + json.dumps(rows[0]) + "\n")
    rest = tiltyard("report", "rows.jsonl", "--baseline", "old")
    assert (rest.code, rest.out) == (65, done.out)
    assert "rows.jsonl:17: input_tokens is a number of about 401 digits" in rest.err
    assert "rows.jsonl:18: is case a, arm old, run 1 once more, which stands at rows.jsonl:1" in rest.err
    (tmp_path / "rows.jsonl").write_text('{"arm": "a"}\n')
    assert tiltyard("report", "rows.jsonl").err == "tiltyard: rows.jsonl:1: run is missing\n"


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--method", "magic"], 64, "method is 'magic'"),
        (["--pass-k", "x"], 64, "--pass-k is 'x'"),
        (["--confidence", "2"], 64, "confidence is 2.0"),
        (["--confidence", "0.49"], 64, "confidence is 0.49, it must be from 0.5 to 0.999"),
        (["--confidence", "0.9999"], 64, "confidence is 0.9999"),
        (["--out", "x.pdf"], 64, "--out ends in .pdf, which is no format: give --format, or one of .csv"),
        (["--out", "nodir/x.html"], 64, "nodir/x.html cannot be written: there is no folder nodir"),
        (["--out", "results"], 64, "results cannot be written: it is a folder"),
        (["--json", "--format", "csv"], 64, "--json and --format csv ask for two formats"),
        (["--design", "clustered"], 65, "needs questions of two groups at least"),
        (["--question", "sums"], 65, "Did you mean 'sum'?"),
        (["--baseline", "none"], 65, "No record has arm 'none'"),
    ],
)
def test_a_wrong_choice_is_one_sentence(
    tiltyard: Command, results: Path, options: list[str], code: int, sentence: str
) -> None:
    done = tiltyard("report", results.name, *options)

    assert done.code == code
    assert sentence in done.err
    assert done.err.count("\n") == 1


def test_choices_reach_the_report(tiltyard: Command, results: Path) -> None:
    options = ["--design", "sampled", "--method", "source", "--pass-k", "2", "--minimum-trials", "3"]
    data = json.loads(
        tiltyard("report", results.name, *options, "--regression-threshold", "0.5", "--json").out
    )

    assert (data["design"], data["method"], data["pass_k"]) == ("sampled", "source", [2])
    assert (data["minimum_trials"], data["regression_threshold"]) == (3, 0.5)


def test_a_misspelt_choice_is_guessed(tiltyard: Command, results: Path) -> None:
    """In the words of the command line alone: what its parser says of itself is no use to anybody."""
    design = tiltyard("report", results.name, "--design", "curatd").err

    assert "for '--design': 'curatd' is not one of" in design
    assert "Did you mean 'curated'?" in design
    assert "Did you mean 'json'?" in tiltyard("report", results.name, "--format", "jsn").err


def test_a_spec_is_no_result_and_attempts_that_nobody_made_are_told(tiltyard: Command, results: Path) -> None:
    """And a file of another name is written where its format is told."""
    (results.parent / "own.yaml").write_text("name: x\n")
    spec = tiltyard("report", "own.yaml")
    done = tiltyard("report", "results", "--pass-k", "1,50", "--out", "rep.xyz", "--format", "md")

    assert (spec.code, spec.err) == (
        65, "tiltyard: own.yaml is a spec and no result: give the folder that `tiltyard run` wrote\n"
    )  # fmt: skip
    assert done.code == 0
    assert "pass@50 and pass^50 are not known" in (results.parent / "rep.xyz").read_text()


def test_rescore_shows_what_edited_keys_change(tiltyard: Command, results: Path) -> None:
    """Originals are kept; a verify command's verdict is not touched; the report by the new keys on demand."""
    (results.parent / "trial.yaml").write_text(SPEC.replace("KEY", "5"))
    before = {path: path.read_bytes() for path in results.rglob("*.json")}
    done = tiltyard("rescore", "trial.yaml", "results")

    assert done.code == 0
    assert done.out.splitlines() == [
        "6 answers were scored again, 6 runs end otherwise; no file was changed.",
        "1 run stays as it is: a verify command decided.",
        "  sum docs probe #1: passed -> failed (the answer lacks: 5)",
        "  sum docs probe #2: passed -> failed (the answer lacks: 5)",
        "  sum docs probe #3: passed -> failed (the answer lacks: 5)",
        "  sum plain probe #1: failed -> passed",
        "  sum plain probe #2: failed -> passed",
        "  sum plain probe #3: failed -> passed",
        "plain: 1 of 4 passed before, 4 now",
        "docs: 3 of 3 passed before, 0 now",
    ]
    assert {path: path.read_bytes() for path in results.rglob("*.json")} == before
    assert "| docs  |    3 | 0/3" in tiltyard("rescore", "trial.yaml", "results", "--report").out


def test_rescore_refuses_the_spec_of_another_trial(tiltyard: Command, results: Path) -> None:
    (results.parent / "trial.yaml").write_text(SPEC.replace("small", "large"))
    done = tiltyard("rescore", "trial.yaml", "results")

    assert done.code == 65
    assert done.err == (
        "tiltyard: trial.yaml is the spec of trial 'large', and results holds 'small': "
        "give the spec that the results came from\n"
    )


@pytest.mark.slow
def test_a_large_result_is_read_from_its_table(tiltyard: Command, tmp_path: Path) -> None:
    """There is no record file at all; the numbers are those of the records."""
    records = [
        record(f"q{number}", arm, rep, "passed" if (number + rep) % 3 else "failed", "4")
        for number in range(2)
        for arm in ("plain", "docs")
        for rep in range(1, 1301)
    ]
    folder = tmp_path / "large"
    folder.mkdir()
    write(folder, [])
    with TableWriter(folder / TABLE_FILE) as writer:
        for each in records:
            writer.add(each)
    digest = hashlib.sha256((folder / TABLE_FILE).read_bytes()).hexdigest()
    manifest = Manifest(
        plan_id="p",
        trial="small",
        partial=False,
        runs={each["run_id"] + str(index): "d" for index, each in enumerate(records)},
        files={TABLE_FILE: FileFact(sha256=digest, rows=len(records))},
    )
    (folder / "manifest.json").write_text(manifest.to_json())
    done = tiltyard("report", "large", "--json")
    data = json.loads(done.out)
    expected = analyse(records, baseline="plain")

    assert (done.code, done.err) == (0, "")
    assert data["runs"] == 5200
    twice = tiltyard("report", "large", "./large", "--json")
    assert (twice.code, twice.out) == (0, done.out)
    assert twice.err == "tiltyard: ./large holds the runs of large once more: they are counted once\n"
    assert data["headline"] == expected.headline
    assert [arm["correct"]["successes"] for arm in data["agents"][0]["arms"]] == [
        arm.correct.successes for arm in expected.agents[0].arms
    ]
