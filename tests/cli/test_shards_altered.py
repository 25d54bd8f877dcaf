"""merge, status and report agree on shards that were altered, broken off or left out, and name the runs."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tiltyard_cluster import FolderStore
from tiltyard_cluster.addresses import open_store
from tiltyard_cluster.compaction import Share, compact
from tiltyard_cluster.layout import RECORD, run_key
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.run_names import label
from tiltyard_cluster.sharding import all_shards, to_file
from tiltyard_specs import content_id
from tiltyard_specs.receipt import Selection, ShardName

pytestmark = pytest.mark.slow
Command = Callable[..., Any]
SHARDS = ("sh1", "sh2", "sh3")


@pytest.fixture(scope="module")
def made(sample: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    """A sample of 8 blocks in three shards, and its plan."""
    root = tmp_path_factory.mktemp("made")
    sample.write_sample(root / "whole", 2, 2)
    records = [json.loads(path.read_text()) for path in root.rglob(RECORD)]
    runs = tuple(map(_planned, sorted(records, key=lambda record: record["position"])))
    plan_id = content_id({"seed": 7, "runs": [run.run_id for run in runs]}, length=32)
    plan = Plan(plan_id, "docs-layer", 7, runs)
    file = to_file(plan, spec="t", selection=Selection(), commits={}, script=None, shards=3)
    (root / "plan.json").write_text(file.to_json())
    for number, own in enumerate(all_shards(plan, 3), 1):
        _shard(root, plan, own, ShardName(index=number, of=3))
    shutil.rmtree(root / "whole")
    return root, plan


def _planned(record: dict[str, Any]) -> PlannedRun:
    block = "-".join(map(str, (record["question"], record["agent"], record["rep"])))
    names = ("run_id", "position", "capability", "question", "arm", "agent", "rep")
    return PlannedRun(**{name: record[name] for name in names}, block=block)


def _shard(root: Path, plan: Plan, runs: tuple[PlannedRun, ...], shard: ShardName) -> None:
    folder = root / f"sh{shard.index}"
    for run in runs:
        shutil.copytree(root / "whole" / run_key(run), folder / run_key(run))
    receipt = json.loads((root / "whole/trial.json").read_text())
    order = [run.run_id for run in runs]
    receipt |= {
        "plan_id": plan.plan_id,
        "shard": shard.model_dump(),
        "order": order,
        "runs_expected": len(runs),
        "runs_by_arm": {},
    }
    (folder / "trial.json").write_text(json.dumps(receipt))
    compact(FolderStore.create(folder), Share(plan.plan_id, plan.trial, runs, shard))


@dataclass(frozen=True)
class World:
    """The shards in the test's own folder."""

    root: Path
    plan: Plan
    run: Command

    def merge(self, *parts: str, out: str = "merged", extra: tuple[str, ...] = ()) -> Any:
        return self.run("merge", "plan.json", *parts, "--out", out, *extra)

    def present(self, folder: str) -> int:
        return int(json.loads(self.run("status", folder, "--json").out)["present"])

    def recorded(self, folder: str) -> int:
        return int(json.loads(self.run("report", folder, "--json").out)["runs"])


@pytest.fixture
def world(made: tuple[Path, Plan], tmp_path: Path, tiltyard: Command) -> World:
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    return World(tmp_path, made[1], tiltyard)


def change_outcome(path: Path) -> None:
    record = json.loads(path.read_text())
    record["outcome"] = "failed" if record["outcome"] == "passed" else "passed"
    path.write_text(json.dumps(record))


def change_usage(path: Path) -> None:
    record = json.loads(path.read_text())
    record["seconds"] = 1 + (record["seconds"] or 0)
    path.write_text(json.dumps(record))


@pytest.mark.parametrize("change", [change_outcome, change_usage, Path.unlink, Path.touch])
def test_all_say_the_same_of_an_altered_shard(world: World, change: Callable[[Path], object]) -> None:
    """A changed record and one that is gone are named by all; what was compacted counts for all."""
    path = min((world.root / "sh1").rglob(RECORD))
    run = label(_planned(json.loads(path.read_text())))
    counted = (world.present("sh1"), world.recorded("sh1"))
    report = world.run("report", "sh1", "--format", "csv").out
    change(path)

    whole = change is Path.touch
    answers = [world.run("status", "sh1"), world.run("report", "sh1"), world.merge(*SHARDS)]
    assert [done.code for done in answers] == [0 if whole else 65] * 3
    for done in answers:
        assert whole or re.search(rf"sh1\S* was altered: .*run {re.escape(run)}", done.err), done.err
    assert (world.present("sh1"), world.recorded("sh1")) == counted
    assert world.run("report", "sh1", "--format", "csv").out == report
    assert (world.root / "merged").exists() is whole


def test_an_altered_attempt_is_named_by_all(world: World) -> None:
    """Its spend counts."""
    path = next((world.root / "sh1").rglob(RECORD))
    record = json.loads(path.read_text())
    lost = record | {"attempt": record["attempt"] + 7}
    attempt = path.parent / "attempts" / str(lost["attempt"]) / "attempt.json"
    attempt.parent.mkdir(parents=True)
    attempt.write_text(json.dumps(lost))

    answers = [world.run("status", "sh1"), world.run("report", "sh1"), world.merge(*SHARDS)]
    assert [done.code for done in answers] == [65] * 3
    assert all("attempt.json was altered" in done.err for done in answers)


def test_an_altered_compacted_file_is_named_by_all(world: World) -> None:
    path = world.root / "sh1/records.jsonl.zst"
    path.write_bytes(path.read_bytes()[:-1])
    answers = [world.run("status", "sh1"), world.run("report", "sh1"), world.merge(*SHARDS)]

    assert [done.code for done in answers] == [65] * 3
    assert all("sh1/records.jsonl.zst was altered" in done.err for done in answers)


def test_a_shard_without_its_files_of_runs_is_whole(world: World) -> None:
    """Whoever keeps the compacted form alone has everything that counts."""
    expected = world.present("sh1")
    shutil.rmtree(world.root / "sh1/runs")

    assert world.present("sh1") == world.recorded("sh1") == expected > 0
    assert world.merge(*SHARDS).code == 0


@pytest.mark.parametrize("lost", [("manifest.json",), ("trial.json",), ("manifest.json", "trial.json")])
def test_a_merge_that_was_broken_off_is_said_to_be(world: World, lost: tuple[str, ...]) -> None:
    """It is neither an empty trial nor a part without runs, and it can be merged again."""
    assert world.merge("sh1", "sh2", extra=("--allow-partial",)).code == 0
    for name in lost:
        (world.root / "merged" / name).unlink()

    answers = [
        world.run("status", "merged"),
        world.run("report", "merged"),
        world.merge("merged", "sh3", out="m2", extra=("--allow-partial",)),
    ]
    assert [done.code for done in answers] == [65] * 3
    words = "merged holds a merged result whose writing was broken off: merge its parts again"
    assert all(words in done.err for done in answers)
    assert world.merge(*SHARDS).code == 0


def test_a_merge_that_was_broken_off_in_s3_is_said_to_be(world: World, s3_service: Any) -> None:
    assert world.merge("sh1", "sh2", extra=("--allow-partial",)).code == 0
    place = f"s3://{s3_service.bucket}/{world.root.name}"
    store = open_store(place)
    for name in ("trial.json", "records.jsonl.zst"):
        store.put(name, (world.root / "merged" / name).read_bytes())

    answers = [world.run("status", place), world.run("report", place), world.merge(place, "sh3", out="m2")]
    assert [done.code for done in answers] == [65] * 3
    assert all("whose writing was broken off" in done.err for done in answers)


def test_a_shard_that_has_only_begun_is_no_broken_merge(world: World) -> None:
    for path in (world.root / "sh1").iterdir():
        if path.name == "runs":
            shutil.rmtree(path)
        elif path.name != "trial.json":
            path.unlink()

    assert world.run("status", "sh1").code == 0
    assert "There are no records here yet" in world.run("report", "sh1").out


def test_what_is_missing_is_said_by_shard_and_by_name(world: World) -> None:
    path = min((world.root / "sh3").rglob(RECORD))
    run = label(_planned(json.loads(path.read_text())))
    path.unlink()
    runs = all_shards(world.plan, 3)[2]
    compact(FolderStore(world.root / "sh3"), _share(world, runs))
    done = world.merge("sh1", "sh3")

    assert done.code == 65
    assert f"shard 2/3 is missing; runs are missing: {run}; run what is left" in done.err
    assert "shard 1/3, shard 2/3 are missing" in world.merge("sh3").err
    assert not (world.root / "merged").exists()  # nothing is left of a refused one


def _share(world: World, runs: tuple[PlannedRun, ...]) -> Share:
    return Share(world.plan.plan_id, world.plan.trial, runs, ShardName(index=3, of=3))


def test_a_finished_shard_is_complete(world: World) -> None:
    done = world.run("status", "sh2")
    data = json.loads(world.run("status", "sh2", "--json").out)

    assert "shard 2/3, complete, plan" in done.out
    assert "PARTIAL" not in done.out
    assert (data["complete"], data["partial"]) == (True, True)  # no verdict rests on it
    assert "PARTIAL" in world.run("report", "sh2").out


@pytest.mark.parametrize("name", ["own.yaml", "sh1/trial.json"])
def test_what_is_no_plan_is_said_to_be_none(world: World, name: str) -> None:
    (world.root / "own.yaml").write_text("name: small\n")
    (world.root / "sh1/trial.json").write_text("{}")
    done = world.run("merge", name, *SHARDS, "--out", "merged")

    assert (done.code, done.err) == (65, f"tiltyard: {name} is no plan; make one with `tiltyard plan`\n")


@pytest.mark.parametrize("name", ["sh1", "nowhere.json"])
def test_what_is_no_file_is_no_plan(world: World, name: str) -> None:
    done = world.run("merge", name, *SHARDS, "--out", "merged")
    assert (done.code, "and a plan file goes here" in done.err) == (65, True)


def test_one_folder_under_three_names_is_one_part(world: World) -> None:
    (world.root / "link").symlink_to("sh1")
    assert world.merge(*SHARDS, out="plain").code == 0
    assert world.merge("link", "sh2", "./sh1", "sh3/", "sh1", out="often").code == 0

    for path in (world.root / "plain").iterdir():
        assert path.read_bytes() == (world.root / "often" / path.name).read_bytes()


@pytest.mark.parametrize("out", ["sh1/merged", "link/merged", "."])
def test_a_place_inside_a_part_or_around_it_is_refused(world: World, out: str) -> None:
    (world.root / "link").symlink_to("sh1")
    done = world.merge(*SHARDS, out=out)

    assert done.code == 64
    assert "--out" in done.err
    assert not (world.root / "sh1/merged").exists()


def test_odd_names_are_made_visible(world: World) -> None:
    odd = "a\nb \x1b[31mred"
    (world.root / "sh1").rename(world.root / odd)
    path = next((world.root / odd).rglob(RECORD))
    change_outcome(path)

    answers = [world.run("status", odd), world.run("report", odd), world.merge(odd, "sh2", "sh3")]
    for done in answers:
        assert r"a\x0ab \x1b[31mred" in done.err
        assert "\x1b" not in done.err + done.out
    assert "\x1b" not in world.merge(f"{odd}/nowhere").err
