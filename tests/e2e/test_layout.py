"""One trial with a bit of everything: where its results lie, what they say, in which order it ran."""

import json
import os
import subprocess
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

KEYS = [
    "schema_version",
    "run_id",
    "trial",
    "capability",
    "question",
    "arm",
    "agent",
    "rep",
    "attempt",
    "outcome",
    "reason",
    "answer",
    "score",
    "verify",
    "usage",
]
AGENT = """\
cat where.txt notes/overlay.txt 2>/dev/null; sort /var/tmp/trial/setup 2>/dev/null
echo "agent: $(env | grep -c ^TRIAL_) MODE=$MODE"; echo new > made.txt"""
SPEC: dict[str, Any] = {
    "seed": 3,
    "defaults": {"reps": 1, "parallel": 1, "timeout": 60, "baseline": "plain", "prompt_suffix": "Last."},
    "limits": {"memory": "256m"},
    "setup_scope": "run",
    "repos": [{"name": "app", "source": "app"}, {"name": "other", "source": "other", "ref": "v1"}],
    "arms": [
        {"name": "plain"},
        {
            "name": "Docs & more",
            "overlay": "overlay",
            "repos": {"app": "other"},
            "setup": ["env | grep ^TRIAL_ > $TRIAL_OUT/setup"],
            "env": {"MODE": "fast"},
            "prompt_prefix": "First.",
            "prompt_suffix": "Then.",
            "uses": "graph",
        },
    ],
    "agents": [
        {"name": "show", "kind": "text", "command": AGENT, "edits": True},
        {"name": "nop"},
    ],
    "questions": [
        {"id": "where", "repo": "app", "prompt": 'Where\'s "that"?\n', "expect": ["(?m)^app$"]},
        {"id": "change", "prompt": "Make it.", "verify": "env | grep ^TRIAL_ | sort; test -f made.txt"},
    ],
}
ARM = "docs-more--800ec2cea0"


def repository(path: Path, text: str) -> None:
    """A repository that is the same each time, so that its image is built once."""
    path.mkdir()
    (path / "where.txt").write_text(f"{text}\n")
    when = {"GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z"}
    who = ["-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"]
    for args in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"], ["tag", "v1"]):
        subprocess.run(["git", *who, *args], cwd=path, check=True, env=os.environ | when)


@pytest.fixture(scope="module")
def finished(world: Any) -> Any:
    """The trial, run to its end once."""
    repository(world.folder / "app", "app")
    repository(world.folder / "other", "other")
    (world.folder / "overlay" / "notes").mkdir(parents=True)
    (world.folder / "overlay" / "notes" / "overlay.txt").write_text("overlaid\n")
    world.write(SPEC)
    world.done = world("run", "trial.yaml")
    assert world.done.code == 0, world.done.err
    return world


def test_results_lie_as_documented(finished: Any) -> None:
    """Other tools rely on these names."""
    found = {path.relative_to(finished.out).as_posix() for path in finished.out.rglob("*") if path.is_file()}
    always = {"run.json", "prompt.txt", "raw.out", "raw.err", "calls.jsonl"}
    expected = {"trial.json", ".lock", "manifest.json", "records.parquet"}
    expected |= {"records.jsonl.zst", "attempts.jsonl.zst"}
    for question in ("where", "change"):
        for arm in ("plain", ARM):
            for agent in ("show", "nop"):
                files = set(always)
                files |= {"patch.diff"} if agent == "show" else set()
                # Setup in the run is done again before grading, and its output begins verify.log.
                graded = question == "change" or (agent == "show" and arm == ARM)
                files |= {"verify.log"} if graded else set()
                files |= {"setup.log"} if arm == ARM else set()
                expected |= {f"runs/{question}/{arm}/{agent}/1/{name}" for name in files}

    assert found == expected
    assert finished.leftovers() == []


def test_outcomes(finished: Any) -> None:
    outcomes = {key: record["outcome"] for key, record in finished.records().items()}

    assert outcomes == {
        "where/plain/show/1": "passed",
        f"where/{ARM}/show/1": "failed",
        "where/plain/nop/1": "no_answer",
        f"where/{ARM}/nop/1": "no_answer",
        "change/plain/show/1": "passed",
        f"change/{ARM}/show/1": "passed",
        "change/plain/nop/1": "failed",
        f"change/{ARM}/nop/1": "failed",
    }
    assert "8 of 8 runs recorded in trial-results: 3 failed, 2 no_answer, 3 passed" in finished.done.out
    assert "Report: tiltyard report trial-results" in finished.done.out


def test_a_record_begins_with_the_documented_keys(finished: Any) -> None:
    for key, record in finished.records().items():
        assert list(record)[: len(KEYS)] == KEYS, key
        assert (record["schema_version"], record["attempt"], record["rep"]) == (1, 1, 1)
        assert record["trial"] == finished.name
        assert key == "/".join(
            [record["question"], "plain" if record["arm"] == "plain" else ARM, record["agent"], "1"]
        )
        assert {"base", "workspace", "arm"} <= set(record["images"])
        assert {"tiltyard", "python", "engine"} <= set(record["versions"])
        assert record["usage"] is record["metered"] is record["capability"] is None


def test_the_receipt(finished: Any) -> None:
    receipt = finished.receipt()

    assert receipt["runs_expected"] == len(receipt["order"]) == 8
    assert receipt["spec"]["limits"]["memory"] == 256 << 20
    assert receipt["seed"] == 3
    assert set(receipt["repos"]) == {"app", "other"}
    assert all(len(repo["commit"]) == 40 for repo in receipt["repos"].values())
    assert receipt["engine"]["platform"].startswith("linux/")
    assert receipt["policy"]["models"] == "provider"


def test_runs_took_place_in_the_order_of_the_plan(finished: Any) -> None:
    """With one run at a time the order is exact, and the arms of a block follow each other."""
    records = sorted(finished.records().values(), key=lambda record: record["started_at"])
    blocks = [list(group) for _, group in groupby(records, key=lambda record: record["block"])]

    assert [record["run_id"] for record in records] == finished.receipt()["order"]
    assert [record["position"] for record in records] == list(range(8))
    assert [len(block) for block in blocks] == [2, 2, 2, 2]
    assert all({record["arm"] for record in block} == {"plain", "Docs & more"} for block in blocks)


def test_the_exact_prompt_is_kept(finished: Any) -> None:
    def prompt(key: str) -> str:
        text: str = (finished.out / "runs" / key / "1" / "prompt.txt").read_text()
        return text

    assert prompt("where/plain/show") == 'Where\'s "that"?\n\n\nLast.'
    assert prompt(f"where/{ARM}/show") == 'First.\n\nWhere\'s "that"?\n\n\nThen.\n\nLast.'


def test_the_arm_reaches_the_agent_and_trial_variables_do_not(finished: Any) -> None:
    """Overlay, swapped repo and the arm's env are there; TRIAL_* is for setup and verify alone."""
    records = finished.records()
    plain, docs = records["where/plain/show/1"], records[f"where/{ARM}/show/1"]

    assert plain["answer"].splitlines() == ["app", "agent: 0 MODE="]
    assert docs["answer"].splitlines() == [
        "other",
        "overlaid",
        "TRIAL_AGENT=show",
        "TRIAL_ARM=Docs & more",
        "TRIAL_DIR=/workspace",
        f"TRIAL_ID=t_{docs['run_id'][:24]}",
        "TRIAL_OUT=/var/tmp/trial",
        "TRIAL_QUESTION=where",
        "TRIAL_REP=1",
        "agent: 0 MODE=fast",
    ]


def test_verify_has_the_trial_variables(finished: Any) -> None:
    record = finished.records()["change/plain/show/1"]
    log = (finished.out / "runs/change/plain/show/1/verify.log").read_text()

    assert log.splitlines() == [
        "TRIAL_AGENT=show",
        "TRIAL_ARM=plain",
        "TRIAL_DIR=/workspace",
        f"TRIAL_ID=t_{record['run_id'][:24]}",
        "TRIAL_OUT=/var/tmp/trial",
        "TRIAL_QUESTION=change",
        "TRIAL_REP=1",
    ]


def test_the_patch_is_the_agents_change(finished: Any) -> None:
    """What the arm brought is no part of it."""
    record = finished.records()[f"where/{ARM}/show/1"]
    patch = (finished.out / f"runs/where/{ARM}/show/1/patch.diff").read_text()

    assert record["patch"]["files"] == ["made.txt"]
    assert "+new" in patch
    assert "overlay" not in patch


def test_use_of_the_arms_tool_is_told_where_the_arm_has_one(finished: Any) -> None:
    records = finished.records()

    assert records["where/plain/show/1"]["used_tool"] is None
    assert records[f"where/{ARM}/show/1"]["used_tool"] is False


def test_progress_is_plain_lines_where_there_is_no_terminal(finished: Any) -> None:
    lines = finished.done.err.splitlines()

    assert "8 runs, 0 of them done already" in lines
    assert [line for line in lines if line.startswith("[8/8 done, 0 running, 0 left")]
    assert "\x1b" not in finished.done.err


def test_the_report(finished: Any) -> None:
    text, data = finished("report", "trial-results"), finished("report", "trial-results", "--json")
    report = json.loads(data.out)

    assert (text.code, data.code) == (0, 0)
    assert text.err == ""
    assert text.out.startswith(f"# {finished.name}\n")
    assert "PARTIAL" not in text.out
    assert "Docs & more" in text.out
    assert report["state"] == "complete"


def test_a_second_start_does_nothing(finished: Any) -> None:
    marks, receipt = finished.marks(), finished.receipt()
    done = finished("run", "trial.yaml")

    assert done.code == 0
    assert "8 runs, 8 of them done already" in done.err
    assert finished.marks() == marks
    assert finished.receipt() == receipt


def test_a_dry_run_needs_no_engine(finished: Any) -> None:
    """It says what is done and what would run, spends nothing and touches nothing."""
    marks = finished.marks()
    nowhere = {"DOCKER_HOST": "unix:///nowhere.sock"}
    all_done = finished("run", "trial.yaml", "--dry-run", **nowhere)
    elsewhere = finished("run", "trial.yaml", "--dry-run", "--out", "other-results", **nowhere)

    assert (all_done.code, elsewhere.code) == (0, 0)
    assert "8 runs, 8 done, 0 to run; results go to trial-results" in all_done.out
    assert all_done.out.count("done, passed") == 3
    assert "8 runs, 0 done, 8 to run; results go to other-results" in elsewhere.out
    assert not (finished.folder / "other-results").exists()
    assert finished.marks() == marks
