"""The demo, with the real claude and codex against the scripted model: what a new user sees first."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.engine, pytest.mark.agents, pytest.mark.slow]

DEMO = Path(__file__).parents[2] / "specs" / "examples" / "demo"
BUCKETS = ("input", "cache_read", "output")


def scripted(question: str, arm: str) -> dict[str, Any]:
    """The sum of the usage that the script gives for a question in an arm, give or take its jitter."""
    script = yaml.safe_load((DEMO / "model-script.yaml").read_text())
    words = "inherit directly" if question == "inherit" else "test_show_default"
    (conversation,) = (
        item
        for item in script["conversations"]
        if words in item["when"]["prompt"] and (arm == "map") == ("MAP" in item["when"]["prompt"])
    )
    turns = conversation["turns"]
    totals = {name: sum(turn["usage"].get(name, 0) for turn in turns) for name in BUCKETS}
    return {
        name: pytest.approx(total, rel=script["jitter"], abs=len(turns)) for name, total in totals.items()
    }


@pytest.fixture(scope="module")
def demo(world: Any) -> Any:
    shutil.copytree(DEMO, world.folder, dirs_exist_ok=True)
    spec = yaml.safe_load((DEMO / "trial.yaml").read_text())
    world.write(spec | {"name": world.name})
    world.done = world("run", "trial.yaml", "--model-script", "model-script.yaml")
    assert world.done.code == 0, world.done.err
    return world


def test_both_clis_solve_both_questions(demo: Any) -> None:
    records = demo.records()

    assert len(records) == 16
    assert {record["outcome"] for record in records.values()} == {"passed"}
    assert {record["agent"] for record in records.values()} == {"claude", "codex"}
    assert {record["attempt"] for record in records.values()} == {1}


def test_the_change_is_the_fix_and_nothing_else(demo: Any) -> None:
    for key, record in demo.records().items():
        files = ["src/click/core.py"] if record["question"] == "empty-default" else []
        assert record["patch"]["files"] == files, key
        assert record["tampered"] == []
        patch = (demo.out / "runs" / key / "patch.diff").read_text()
        assert ("default_string = '\"\"'" in patch) == bool(files)


def test_every_token_of_the_script_is_metered_and_no_other(demo: Any) -> None:
    """As the gateway counts and as the agents report."""
    for key, record in demo.records().items():
        expected = scripted(record["question"], record["arm"])
        assert {name: record["metered"]["usage"][name] for name in BUCKETS} == expected, key
        for name in BUCKETS:
            assert record["reported"]["usage"][name] == record["metered"]["usage"][name], key
        assert record["metered"]["cost_usd"] > 0
        lines = (demo.out / "runs" / key / "calls.jsonl").read_text().splitlines()
        calls = [call for call in map(json.loads, lines) if call["outcome"] == "ok"]
        assert len(calls) == record["metered"]["calls"]
        assert sum(call["usage"]["input"] for call in calls) == record["metered"]["usage"]["input"]


def test_both_accounts_agree_and_the_prices_are_named(demo: Any) -> None:
    """As the real CLIs print their usage: nothing is left out, and nothing counted in another bucket."""
    (table,) = demo.receipt()["prices"]
    for key, record in demo.records().items():
        assert record["versions"]["prices"] == table, key
        assert record["difference"] is None, key


def test_every_run_called_the_model_that_it_should(demo: Any) -> None:
    done = demo("fidelity", "trial-results")

    assert done.code == 0, done.out
    assert "plain: 8 of 8 completed runs called the worker." in done.out


def test_the_demo_tells_what_it_would_cost_again(demo: Any) -> None:
    script = ("--model-script", "model-script.yaml")
    more = ("--reps", "5", "--estimate", "--json")
    found = json.loads(demo("run", "trial.yaml", *script, *more, DOCKER_HOST="unix:///nowhere.sock").out)

    assert (found["runs"], found["done"], found["earlier_runs"]) == (24, 16, 16)
    assert found["tokens"]["low"] <= found["tokens"]["mean"] <= found["tokens"]["high"]
    assert found["unknown_usd_runs"] == 0


def test_use_of_the_map_is_told(demo: Any) -> None:
    used = {(record["arm"], record["used_tool"]) for record in demo.records().values()}

    assert used == {("plain", None), ("map", True)}


def test_agents_that_must_be_metered_are_pinned(demo: Any) -> None:
    versions = {record["agent"]: record["versions"]["agent"] for record in demo.records().values()}

    assert set(versions) == {"claude", "codex"}
    assert all(version[0].isdigit() for version in versions.values())
    assert {"agent claude", "agent codex"} <= set(demo.receipt()["versions"])


def test_the_report_compares_the_arms_for_each_agent(demo: Any) -> None:
    report = demo("report", "trial-results")
    data = json.loads(demo("report", "trial-results", "--json").out)

    assert report.code == 0
    assert report.err == ""
    for word in ("claude", "codex", "plain", "map", "empty-default", "inherit", "scripted"):
        assert word in report.out, word
    assert "PARTIAL" not in report.out
    assert data["state"] == "complete"


def test_an_agent_that_edits_the_protected_test_is_tampered(demo: Any) -> None:
    """Whatever the test says afterwards."""
    script = {
        "conversations": [
            {
                "turns": [
                    {"shell": "echo 'def test_nothing(): pass' > tests/test_options.py"},
                    {"text": "The test passes now."},
                ]
            }
        ]
    }
    (demo.folder / "cheat.yaml").write_text(yaml.safe_dump(script))
    where = ("--question", "empty-default", "--arm", "plain", "--reps", "1")
    done = demo("run", "trial.yaml", "--model-script", "cheat.yaml", "--out", "cheat-results", *where)
    found = {
        path.parts[-3]: json.loads(path.read_text())
        for path in demo.folder.rglob("cheat-results/**/run.json")
    }

    assert done.code == 0
    assert {agent: record["outcome"] for agent, record in found.items()} == {
        "claude": "tampered",
        "codex": "tampered",
    }
    assert found["codex"]["tampered"] == ["tests/test_options.py"]
    assert found["codex"]["reason"] == "touched protected paths: tests/test_options.py"


def test_nothing_is_left(demo: Any) -> None:
    assert demo.leftovers() == []
