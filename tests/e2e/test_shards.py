"""A trial in shards on machines that share nothing, and what merging them proves."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cluster.lines import read_lines
from tiltyard_cluster.merging import merge as merge_parts
from tiltyard_cluster.store import FolderStore
from tiltyard_specs.plan_file import parse_plan

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SPEC: dict[str, Any] = {
    "defaults": {"reps": 2, "timeout": 60},
    "limits": {"memory": "128m", "cpus": 0.5},
    "budget": {"tokens": 6000},
    "arms": [{"name": "plain"}, {"name": "docs", "prompt_suffix": "Briefly."}],
    "questions": [
        {"id": "sum", "prompt": "2+2?", "expect": ["4"]},
        {"id": "next", "prompt": "4+1?", "expect": ["5"]},
        {"id": "last", "prompt": "3+1?", "expect": ["4"]},
    ],
}
TIMES = frozenset({"seconds", "started_at", "held_seconds", "node"})
FILES = ("attempts.jsonl.zst", "manifest.json", "records.jsonl.zst", "records.parquet", "trial.json")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(item) for name, item in value.items() if name not in TIMES}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def records(folder: Path) -> list[Any]:
    return [without_times(json.loads(line)) for line in read_lines(folder / "records.jsonl.zst", "")]


@pytest.fixture(scope="module")
def sharded(world: Any, call_model: str) -> Any:
    """A plan, its three shards in folders of three machines with caches of their own, and a whole run."""
    agent = {"name": "asker", "kind": "text", "command": call_model}
    world.write({**SPEC, "agents": [agent]})
    world.spec = {**SPEC, "agents": [agent]}
    script = ("--model-script", "script.yaml")
    world.planned = world("plan", "trial.yaml", "--shards", "3", "--out", "plan.json", *script)
    world.shards, world.done = [], []
    home = world.folder
    for number in (1, 2, 3):
        machine = home / f"machine{number}"
        machine.mkdir()
        for name in ("trial.yaml", "plan.json", "script.yaml"):
            shutil.copy(home / name, machine / name)
        world.folder = machine
        world.done.append(
            world(
                "run", "plan.json", "--shard", f"{number}/3", *script, TILTYARD_CACHE=str(machine / "cache")
            )
        )
        world.shards.append(machine / f"trial-results-{number}-of-3")
        world.folder = home
    world.whole = world("run", "trial.yaml", *script)
    return world


def merge(world: Any, target: str, *parts: Path | str, extra: tuple[str, ...] = ()) -> Any:
    return world("merge", "plan.json", *map(str, parts), "--out", target, *extra)


def test_the_plan_says_what_there_is(sharded: Any) -> None:
    plan = json.loads((sharded.folder / "plan.json").read_text())

    assert sharded.planned.code == 0
    assert f"plan.json: 12 runs in 6 blocks, cut into 3 shards; plan {plan['plan_id']}" in sharded.planned.out
    assert plan["spec"] == "trial.yaml"


def test_each_shard_runs_its_part_and_no_more(sharded: Any) -> None:
    for number, (done, folder) in enumerate(zip(sharded.done, sharded.shards, strict=True), start=1):
        assert done.code == 0, done.err
        assert "4 of 4 runs recorded" in done.out
        manifest = json.loads((folder / "manifest.json").read_text())
        assert (manifest["shard"], manifest["partial"]) == ({"index": number, "of": 3}, False)
        status = json.loads(sharded("status", str(folder), "--json").out)
        assert (status["shard"], status["expected"], status["missing"]) == (f"{number}/3", 4, 0)
        assert status["partial"]


def test_merged_in_any_order_they_are_the_same_bytes(sharded: Any) -> None:
    plan = parse_plan((sharded.folder / "plan.json").read_bytes(), "plan.json")
    done = merge(sharded, "merged", *sharded.shards)
    merged = content(sharded.folder / "merged")

    assert done.code == 0, done.err
    assert "12 expected, 12 present, 0 missing, 0 duplicate, 0 foreign" in done.out
    assert sorted(merged) == list(FILES)
    for number, order in enumerate(itertools.permutations(sharded.shards)):
        target = FolderStore.create(sharded.folder / f"merged{number}")
        merge_parts(plan, [(str(part), FolderStore(part)) for part in order], target)
        assert content(target.root) == merged


def test_shards_find_what_a_whole_run_finds(sharded: Any) -> None:
    """But for times, the machine, and which address each machine's images were built under."""
    assert sharded.whole.code == 0
    assert merge(sharded, "merged", *sharded.shards).code == 0

    assert records(sharded.folder / "merged") == records(sharded.out)
    receipts = [
        json.loads((folder / "trial.json").read_text()) for folder in (sharded.folder / "merged", sharded.out)
    ]
    assert receipts[0]["plan_id"] == receipts[1]["plan_id"]
    assert receipts[0]["order"] == receipts[1]["order"]
    assert receipts[0]["drift"] == {}


def test_a_merged_result_is_read_like_any_other(sharded: Any) -> None:
    assert merge(sharded, "merged", *sharded.shards).code == 0
    report, whole = sharded("report", "merged"), sharded("report", "trial-results")
    fidelity = sharded("fidelity", "merged", "--json")
    estimate = sharded(
        "run", "trial.yaml", "--model-script", "script.yaml", "--out", "new", "--estimate", "--from", "merged"
    )

    assert report.code == whole.code == 0
    assert "PARTIAL" not in report.out
    assert report.out.splitlines()[:3] == whole.out.splitlines()[:3]
    assert fidelity.code == 0
    assert sum(use["calls"] for run in json.loads(fidelity.out)["runs"] for use in run["uses"]) == 12
    assert "runs of the same question, arm and agent in merged" in estimate.out
    assert not (sharded.folder / "new").exists()
    status = json.loads(sharded("status", "merged", "--json").out)
    assert status["merged"]
    assert not status["partial"]
    assert {arm["arm"]: (arm["expected"], arm["missing"], arm["outcomes"]) for arm in status["arms"]} == {
        "docs": (6, 0, {"failed": 2, "passed": 4}),
        "plain": (6, 0, {"failed": 2, "passed": 4}),
    }
    assert status["spent"]["tokens"] == 12 * 110


def test_a_shard_alone_is_partial(sharded: Any) -> None:
    report = sharded("report", str(sharded.shards[1]))

    assert report.out.startswith("# PARTIAL")
    assert "PARTIAL: this is shard 2 of 3, with 4 runs of its 4 recorded" in report.out


def test_a_missing_shard_is_refused_and_a_partial_result_never_forgets_it(sharded: Any) -> None:
    refused = merge(sharded, "part", *sharded.shards[:2])
    partial = merge(sharded, "part", *sharded.shards[:2], extra=("--allow-partial",))
    report = sharded("report", "part")
    added = sharded("run", "trial.yaml", "--model-script", "script.yaml", "--out", "part")
    whole = merge(sharded, "part", "part", sharded.shards[2])

    assert refused.code == 65
    assert "shard 3/3 is missing" in refused.err
    assert "12 expected, 8 present, 4 missing, 0 duplicate, 0 foreign" in refused.err
    assert partial.code == 0
    assert "PARTIAL" in partial.out
    assert report.out.startswith("# PARTIAL")
    assert "PARTIAL: 8 runs of 12 planned are recorded: no verdicts yet." in report.out
    assert added.code == 64
    assert "part holds a merged result" in added.err
    assert whole.code == 0
    assert "PARTIAL" not in sharded("report", "part").out


def test_places_that_hold_something_else_are_refused(sharded: Any) -> None:
    script = ("--model-script", "script.yaml")
    into_a_shard = merge(sharded, str(sharded.shards[0]), *sharded.shards)
    other_part = sharded("run", "plan.json", "--shard", "2/3", "--out", str(sharded.shards[0]), *script)
    whole = sharded("run", "trial.yaml", "--out", str(sharded.shards[0]), *script)
    other_cut = sharded("run", "plan.json", "--shard", "2/4", *script)
    without_plan = sharded("run", "trial.yaml", "--shard", "2/4", *script)

    assert (into_a_shard.code, "so it is no merged result" in into_a_shard.err) == (64, True)
    assert (
        other_part.code,
        "holds shard 1/3 of a plan, and shard 2/3 of a plan was asked for" in other_part.err,
    ) == (64, True)
    assert (whole.code, "and a whole trial was asked for" in whole.err) == (64, True)
    assert (other_cut.code, "cut into 3 shards, not into 4" in other_cut.err) == (64, True)
    assert (without_plan.code, "--shard needs a plan" in without_plan.err) == (64, True)


def test_a_plan_of_a_changed_spec_is_refused_by_name(sharded: Any) -> None:
    spec = json.loads(json.dumps(sharded.spec))
    spec["questions"][0]["prompt"] = "2 + 2?"
    sharded.write(spec, "changed.yaml")
    script = ("--model-script", "script.yaml")
    run = ("run", "changed.yaml", "--plan", "plan.json", "--shard", "1/3", "--out", "stale")
    stale, unscripted = (
        sharded(*run, *script),
        sharded("run", "plan.json", "--shard", "1/3", "--out", "stale"),
    )

    assert stale.code == unscripted.code == 65
    assert "the spec has changed since the plan was made: 4 of 12 runs differ, such as sum " in stale.err
    assert "the plan was made with a model script: give the same one with --model-script" in unscripted.err


def test_a_shard_started_again_does_nothing_twice(sharded: Any) -> None:
    """Nor is what was compacted written anew."""
    before = (sharded.shards[0] / "manifest.json").stat().st_ino
    again = sharded(
        "run", "plan.json", "--shard", "1/3", "--out", str(sharded.shards[0]), "--model-script", "script.yaml"
    )

    assert again.code == 0
    assert "4 runs, 4 of them done already" in again.err
    assert (sharded.shards[0] / "manifest.json").stat().st_ino == before


def test_a_shard_keeps_to_its_part_of_the_budget(sharded: Any) -> None:
    """Machines that share nothing share no budget: 900 tokens for twelve runs are 300 for four."""
    spec = {**sharded.spec, "name": sharded.name, "budget": {"tokens": 900}}
    sharded.write(spec, "poor.yaml")
    script = ("--model-script", "script.yaml")
    done = sharded(
        "run",
        "poor.yaml",
        "--plan",
        "plan.json",
        "--shard",
        "1/3",
        "--out",
        "poor",
        *script,
        "--parallel",
        "1",
    )

    assert done.code == 3
    assert "300 tokens of the trial's budget of 300 tokens is left" in done.out
    manifest = json.loads((sharded.folder / "poor" / "manifest.json").read_text())
    assert manifest["partial"]
    refused = merge(sharded, "never", "poor", *sharded.shards[1:])
    assert refused.code == 65


def test_nothing_is_left(sharded: Any) -> None:
    assert sharded.leftovers() == []
