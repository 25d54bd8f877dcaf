"""A trial that is started again: nothing is run twice, what changed is run, and a part may be asked for."""

import json
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SPEC: dict[str, Any] = {
    "defaults": {"reps": 2, "timeout": 60},
    "limits": {"memory": "128m", "cpus": 0.5},
    "arms": [{"name": "plain"}, {"name": "docs", "prompt_suffix": "Briefly."}],
    "agents": [
        {"name": "four", "kind": "text", "command": "echo 4"},
        {"name": "five", "kind": "text", "command": "echo 5"},
    ],
    "questions": [
        {"id": "sum", "prompt": "2+2?", "expect": ["4"]},
        {"id": "next", "prompt": "4+1?", "expect": ["5"]},
    ],
}


@pytest.fixture(scope="module")
def steps(world: Any) -> Any:
    """The starts of one trial, in the order in which a user would make them. Each keeps what it found."""
    world.write(SPEC)
    world.seen = {}

    def step(name: str, *args: str) -> None:
        done = world("run", "trial.yaml", *args)
        world.seen[name] = (done, world.records(), world.marks(), world.receipt())

    step("part", "--question", "sum", "--arm", "plain", "--agent", "four", "--reps", "1")
    world.part_report = world("report", "trial-results")
    step("question", "--question", "sum")
    step("whole")
    spec = json.loads(json.dumps(SPEC))
    spec["questions"][1]["prompt"] = "4 + 1?"
    spec["budget"] = {"tokens": 1000}
    world.write(spec)
    world.preview = world("run", "trial.yaml", "--dry-run")
    step("changed")
    world.superseded = {path.parent.name for path in (world.out / "superseded").glob("*/run.json")}
    step("again")
    step("more", "--question", "next", "--agent", "five", "--reps", "3")
    world.write(SPEC)
    step("back")
    return world


def test_a_part(steps: Any) -> None:
    """The receipt asks for no more than the user did, so the report is whole."""
    done, records, _, receipt = steps.seen["part"]

    assert done.code == 0
    assert "1 of 1 run recorded" in done.out
    assert list(records) == ["sum/plain/four/1"]
    assert receipt["runs_expected"] == 1
    assert receipt["selection"] == {"questions": ["sum"], "arms": ["plain"], "agents": ["four"], "reps": 1}
    assert len(receipt["spec"]["questions"]) == 2
    assert "PARTIAL" not in steps.part_report.out


def test_a_larger_part_adds_to_it(steps: Any) -> None:
    done, records, marks, receipt = steps.seen["question"]

    assert "8 of 8 runs recorded" in done.out
    assert {key.split("/")[0] for key in records} == {"sum"}
    assert marks.items() >= steps.seen["part"][2].items()
    assert receipt["runs_expected"] == 8


def test_the_whole_adds_the_rest(steps: Any) -> None:
    done, records, marks, receipt = steps.seen["whole"]

    assert "16 of 16 runs recorded" in done.out
    assert marks.items() >= steps.seen["question"][2].items()
    by_position = sorted(records.values(), key=lambda record: record["position"])
    assert [record["run_id"] for record in by_position] == receipt["order"]
    assert [record["position"] for record in by_position] == list(range(16))


def test_a_changed_question_is_asked_again_and_no_other(steps: Any) -> None:
    done, records, marks, receipt = steps.seen["changed"]
    before = steps.seen["whole"][2]

    assert done.code == 0
    assert "16 runs, 8 of them done already" in done.err
    assert {key for key in marks if marks[key] == before[key]} == {k for k in marks if k.startswith("sum/")}
    assert set(receipt["order"]) == {record["run_id"] for record in records.values()}
    assert steps.superseded == {
        record["run_id"] for key, record in steps.seen["whole"][1].items() if key.startswith("next/")
    }


def test_results_that_are_set_aside_are_told(steps: Any) -> None:
    """Before they are, and when they are; a start that sets nothing aside says nothing."""
    aside = "in superseded/: 8 (0 tokens); they come back when the spec is changed back"

    assert f"results of an older spec would be set aside {aside}" in steps.preview.out
    assert f"results of an older spec set aside {aside}" in steps.seen["changed"][0].err
    assert "set aside" not in steps.seen["again"][0].err


def test_nothing_is_done_twice(steps: Any) -> None:
    assert steps.seen["again"][1:] == steps.seen["changed"][1:]


def test_more_repetitions(steps: Any) -> None:
    _, records, marks, receipt = steps.seen["more"]

    assert set(records) - set(steps.seen["again"][1]) == {"next/plain/five/3", "next/docs/five/3"}
    assert marks.items() >= steps.seen["again"][2].items()
    assert receipt["runs_expected"] == 18


def test_a_spec_that_is_changed_back_buys_nothing_again(steps: Any) -> None:
    """The records of the first wording come back from where they were kept."""
    done, records, marks, _ = steps.seen["back"]

    assert "16 runs, 16 of them done already" in done.err
    assert {key: marks[key] for key in steps.seen["whole"][2]} == steps.seen["whole"][2]
    assert {key: records[key] for key in steps.seen["whole"][1]} == steps.seen["whole"][1]


def test_nothing_is_left(steps: Any) -> None:
    assert steps.leftovers() == []


def test_a_trial_of_capabilities(world: Any) -> None:
    """A question in two capabilities is asked twice, in folders of their own."""
    spec = {
        **SPEC,
        "defaults": {"reps": 1, "timeout": 60},
        "arms": [{"name": "plain"}],
        "agents": SPEC["agents"][:1],
        "capabilities": [{"id": "adding", "questions": ["sum"]}, {"id": "All", "questions": ["sum", "next"]}],
    }
    world.write(spec, "capable.yaml")
    done = world("run", "capable.yaml")
    found = sorted(path.parts[-4:-1] for path in (world.folder / "capable-results").rglob("run.json"))

    assert done.code == 0
    assert "3 of 3 runs recorded" in done.out
    assert [path.name for path in sorted((world.folder / "capable-results" / "runs").iterdir())] == [
        "adding+sum",
        "all--a52ace420f+next",
        "all--a52ace420f+sum",
    ]
    assert found == [("plain", "four", "1")] * 3
