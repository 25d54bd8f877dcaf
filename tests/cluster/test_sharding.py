"""Plans as files, and shards of plans."""

import json
from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.sharding import empty_shards, from_file, shard_runs, to_file
from tiltyard_specs import DataError, UsageError, content_id
from tiltyard_specs.plan_file import parse_plan
from tiltyard_specs.receipt import Selection, ShardName

MakePlan = Callable[..., Plan]


def plan_with(sizes: list[int]) -> Plan:
    runs = [
        PlannedRun(f"{number:016x}{arm:016x}", 0, f"b{number}", None, "q", f"arm{arm}", "g", 1)
        for number, size in enumerate(sizes)
        for arm in range(size)
    ]
    plan_id = content_id({"seed": 7, "runs": [run.run_id for run in runs]}, length=32)
    return Plan(plan_id, "t", 7, tuple(runs))


def written(plan: Plan, shards: int = 3) -> str:
    file = to_file(
        plan,
        spec="trial.yaml",
        selection=Selection(reps=2),
        commits={"app": "a" * 40},
        script=None,
        shards=shards,
    )
    return file.to_json()


@pytest.mark.slow
@given(st.lists(st.integers(1, 5), max_size=40), st.integers(1, 60))
@settings(max_examples=200, deadline=None)
def test_shards_are_whole_blocks_and_together_the_plan(sizes: list[int], shards: int) -> None:
    plan = plan_with(sizes)
    parts = [shard_runs(plan, ShardName(index=i, of=shards)) for i in range(1, shards + 1)]

    assert tuple(run for part in parts for run in part) == plan.runs
    blocks = [{run.block for run in part} for part in parts]
    assert sum(map(len, blocks)) == len(sizes)
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1
    assert sum(not part for part in parts) == empty_shards(plan, shards)


def test_a_plan_comes_back_as_it_was_written(plan: MakePlan) -> None:
    original = plan()
    file = parse_plan(written(original), "plan.json")

    assert from_file(file) == original
    assert file.to_json() == written(original)
    assert (file.commits, file.shards, file.selection.reps) == ({"app": "a" * 40}, 3, 2)


def test_equal_plans_are_equal_files(plan: MakePlan) -> None:
    text = written(plan())
    shuffled = json.dumps(dict(reversed(list(json.loads(text).items()))), indent=3)

    assert parse_plan(shuffled, "plan.json").to_json() == text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data["runs"]["run_id"].reverse(), "plan_id is not the id of these runs"),
        (lambda data: data["runs"]["arm"].pop(), "the columns differ in length"),
        (lambda data: data.update(seed=8), "plan_id is not the id of these runs"),
        (lambda data: data.update(schema_version=2), "was written by a newer Tiltyard"),
        (lambda data: data.pop("runs"), "runs"),
    ],
)
def test_a_changed_plan_is_refused(plan: MakePlan, change: Callable[[dict], object], says: str) -> None:  # type: ignore[type-arg]  # plain JSON
    data = json.loads(written(plan()))
    change(data)
    with pytest.raises(DataError, match=says):
        parse_plan(json.dumps(data), "plan.json")


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/", "a/b", "-1/3", "1/0", "1/3/5", "\uff11/3"])
def test_what_names_no_shard(text: str) -> None:
    with pytest.raises(UsageError, match="names no shard: give I/N"):
        ShardName.parse(text)


def test_a_shard_by_name() -> None:
    assert str(ShardName.parse("2/5")) == "2/5"
