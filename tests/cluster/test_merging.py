"""Merging: the same bytes in any order and grouping, and nothing missing, doubled, foreign or altered."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from tiltyard_cluster.compaction import Share, compact
from tiltyard_cluster.layout import ATTEMPT, RECORD, attempt_key, run_key
from tiltyard_cluster.lines import LineWriter, digest_of, file_sha256, read_lines
from tiltyard_cluster.merging import MergeError, Tally, merge
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.sharding import to_file
from tiltyard_cluster.store import FolderStore
from tiltyard_specs import DataError, Outcome, RunRecord, UsageError, content_id
from tiltyard_specs.manifest import FileFact, Manifest
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.receipt import Selection, TrialReceipt

pytestmark = pytest.mark.slow  # many files each

MakeRecord = Callable[..., RunRecord]
FILES = ("attempts.jsonl.zst", "manifest.json", "records.jsonl.zst", "records.parquet", "trial.json")


def a_plan(blocks: int, arms: int = 2) -> Plan:
    runs = [
        PlannedRun(
            run_id=content_id([block, arm], length=32),
            position=block * arms + arm,
            block=f"b{block}",
            capability=None,
            question=f"q{block % 3}",
            arm=f"arm{arm}",
            agent="g",
            rep=1 + block // 3,
        )
        for block in range(blocks)
        for arm in range(arms)
    ]
    plan_id = content_id({"seed": 1, "runs": [run.run_id for run in runs]}, length=32)
    return Plan(plan_id, "small", 1, tuple(runs))


def as_file(plan: Plan) -> PlanFile:
    return to_file(plan, spec="t.yaml", selection=Selection(), commits={}, script=None, shards=1)


class Parts:
    """Makes results of parts of one plan in folders."""

    def __init__(self, root: Path, plan: Plan, record: MakeRecord) -> None:
        self.root = root
        self.plan = plan
        self.record = record
        self.made = 0

    def part(self, runs: Sequence[PlannedRun], **changes: Any) -> Path:
        """A result that holds these runs; each third has an earlier attempt."""
        self.made += 1
        folder = self.root / f"part{self.made}"
        store = FolderStore.create(folder)
        for run in runs:
            again = int(run.run_id, 16) % 3 == 0
            if again:
                lost = self.record(run, outcome=Outcome.INFRA, attempt=1)
                store.put(f"{attempt_key(run_key(run), 1)}/{ATTEMPT}", lost.to_json().encode())
            settled = self.record(run, attempt=2 if again else 1)
            store.put(f"{run_key(run)}/{RECORD}", settled.to_json().encode())
        receipt: dict[str, Any] = {
            "trial": self.plan.trial, "plan_id": self.plan.plan_id, "seed": 1, "spec": {"name": "small"},
            "order": [run.run_id for run in runs], "runs_expected": len(runs),
            "started_at": f"2026-01-0{self.made % 9 + 1}T00:00:00Z",
        } | changes  # fmt: skip
        store.put("trial.json", TrialReceipt.model_validate(receipt).to_json().encode())
        compact(store, Share(receipt["plan_id"], self.plan.trial, tuple(runs)))
        return folder

    def merge(self, *folders: Path, partial: bool = False, plan: Plan | None = None) -> tuple[Path, Tally]:
        self.made += 1
        target = self.root / f"merged{self.made}"
        parts = [(str(folder), FolderStore(folder)) for folder in folders]
        tally = merge(as_file(plan or self.plan), parts, FolderStore.create(target), allow_partial=partial)
        return target, tally


@pytest.fixture
def parts(tmp_path: Path, record: MakeRecord) -> Parts:
    return Parts(tmp_path, a_plan(6), record)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def names(runs: Sequence[PlannedRun]) -> list[str]:
    return [f"{run.question} {run.arm} {run.agent} #{run.rep}" for run in runs]


def thirds(parts: Parts) -> list[Path]:
    runs = parts.plan.runs
    return [parts.part(runs[:4]), parts.part(runs[4:8]), parts.part(runs[8:])]


@pytest.fixture
def many(tmp_path_factory: pytest.TempPathFactory, record: MakeRecord) -> Iterator[Parts]:
    made = Parts(tmp_path_factory.mktemp("many"), a_plan(8), record)
    yield made
    shutil.rmtree(made.root)


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_and_grouping_gives_the_same_bytes(many: Parts, data: st.DataObject) -> None:
    """Associative, commutative and idempotent: cut anyhow, overlapping, merged by stages or at once."""
    if many.made == 0:
        many.blocks = [many.part(block) for block in many.plan.blocks()]  # type: ignore[attr-defined]
        many.whole, _ = many.merge(*many.blocks)  # type: ignore[attr-defined]
    blocks: list[Path] = many.blocks  # type: ignore[attr-defined]
    order = data.draw(st.permutations(blocks))
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(order), max_size=len(order)))
    grouped = [[part for part, place in zip(order, groups, strict=True) if place == n] for n in range(3)]
    stages = [many.merge(*group, partial=True)[0] for group in grouped if group]
    extra = data.draw(st.lists(st.sampled_from([*blocks, *stages]), max_size=3))
    merged, tally = many.merge(*data.draw(st.permutations([*stages, *extra])))

    assert content(merged) == content(many.whole)  # type: ignore[attr-defined]
    assert (tally.present, tally.missing, tally.foreign) == (16, [], [])
    for made in (*stages, merged):
        shutil.rmtree(made)


def test_a_merged_result_holds_every_record_and_attempt(parts: Parts) -> None:
    merged, tally = parts.merge(*thirds(parts))

    assert sorted(path.name for path in merged.iterdir()) == list(FILES)
    lines = [json.loads(line) for line in read_lines(merged / "records.jsonl.zst", "")]
    assert [line["run_id"] for line in lines] == sorted(run.run_id for run in parts.plan.runs)
    attempts = [json.loads(line) for line in read_lines(merged / "attempts.jsonl.zst", "")]
    assert {line["outcome"] for line in attempts} == {"infra"}
    assert len(attempts) == tally.attempts == sum(int(run.run_id, 16) % 3 == 0 for run in parts.plan.runs) > 0
    receipt = TrialReceipt.model_validate_json((merged / "trial.json").read_bytes())
    assert receipt.order == tuple(run.run_id for run in parts.plan.runs)
    assert (receipt.started_at, receipt.missing) == ("2026-01-02T00:00:00Z", 0)
    assert tally.words() == "12 expected, 12 present, 0 missing, 0 duplicate, 0 foreign"


def test_each_row_of_the_table_says_where_its_files_lie(parts: Parts) -> None:
    shards = thirds(parts)
    first, _ = parts.merge(*shards[:2], partial=True)
    merged, _ = parts.merge(first, shards[2])

    table = pq.read_table(merged / "records.parquet")
    place = dict(zip(table["run_id"].to_pylist(), table["place"].to_pylist(), strict=True))
    assert {run.run_id: place[run.run_id] for run in parts.plan.runs} == {
        run.run_id: str(shards[number // 4]) for number, run in enumerate(parts.plan.runs)
    }
    assert set(table["metered_usage_input"].to_pylist()) == {100}


def test_a_missing_part_is_refused_and_named(parts: Parts) -> None:
    shards = thirds(parts)
    with pytest.raises(MergeError, match="runs are missing: ") as error:
        parts.merge(shards[0], shards[2])

    gone = sorted(run.run_id for run in parts.plan.runs[4:8])
    assert error.value.tally.missing == gone
    assert all(name in str(error.value) for name in names(parts.plan.runs[4:8]))
    assert "12 expected, 8 present, 4 missing" in str(error.value)


def test_a_partial_result_says_so_in_its_data_until_it_is_whole(parts: Parts) -> None:
    shards = thirds(parts)
    partial, tally = parts.merge(*shards[:2], partial=True)

    assert len(tally.missing) == 4
    assert Manifest.parse((partial / "manifest.json").read_bytes(), "").partial
    assert TrialReceipt.model_validate_json((partial / "trial.json").read_bytes()).missing == 4
    whole, _ = parts.merge(partial, shards[2])
    assert not Manifest.parse((whole / "manifest.json").read_bytes(), "").partial
    assert TrialReceipt.model_validate_json((whole / "trial.json").read_bytes()).missing == 0


@pytest.mark.parametrize("at_once", [2, 3])
def test_more_parts_than_can_be_open_are_joined_by_stages(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """A process has few open files: the bytes are those of one merge, and what is wrong is still found."""
    blocks = [parts.part(block) for block in parts.plan.blocks()]
    whole, _ = parts.merge(*blocks)
    monkeypatch.setattr("tiltyard_cluster.merging._AT_ONCE", at_once)
    staged, tally = parts.merge(*blocks, blocks[0])

    assert content(staged) == content(whole)
    assert (tally.present, tally.duplicate, tally.attempts) == (12, 0, attempts_in(whole))
    usual = parts.record
    parts.record = lambda run, **more: usual(run, **more, usd=0.75 if "outcome" in more else 0.5)
    other = parts.part(parts.plan.runs)
    with pytest.raises(MergeError, match=f"{other} differ on run"):
        parts.merge(*blocks, other)


def attempts_in(folder: Path) -> int:
    return sum(1 for _ in read_lines(folder / "attempts.jsonl.zst", ""))


def test_the_same_part_twice_changes_nothing_however_it_is_spelled(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = thirds(parts)
    once, _ = parts.merge(*shards)
    (parts.root / "a link").symlink_to(shards[1])
    monkeypatch.chdir(parts.root)
    spelled = [Path("a link"), Path(shards[1].name), parts.root / "x/.." / shards[1].name]
    for folders in (
        [*spelled, *shards],
        [shards[0], spelled[0], shards[2]],
        [shards[2], *shards, *spelled[1:]],
    ):
        twice, tally = parts.merge(*folders)
        assert tally.duplicate == 0
        assert content(once) == content(twice)


def test_a_copy_of_a_part_is_counted_and_dropped(parts: Parts) -> None:
    shards = thirds(parts)
    shutil.copytree(shards[1], parts.root / "copy")
    _, tally = parts.merge(*shards, parts.root / "copy")

    assert (tally.present, tally.duplicate) == (12, 4)


def test_no_result_lies_inside_another(parts: Parts) -> None:
    """A merged result inside a part, or around one, would be taken for its files."""
    shards = thirds(parts)
    for target in (shards[1] / "merged", shards[1] / "runs" / "x", parts.root):
        with pytest.raises(UsageError, match=f"lies inside {re.escape(str(parts.root))}"):
            merge(
                as_file(parts.plan), [(str(part), FolderStore(part)) for part in shards], FolderStore(target)
            )
    assert not (shards[1] / "merged").exists()


def test_names_of_parts_cannot_write_to_the_terminal(parts: Parts) -> None:
    shards = thirds(parts)
    odd = shards[1].rename(parts.root / "a\nb \x1b[31mred")
    alter_records(odd)
    told: list[str] = []
    with pytest.raises(MergeError) as error:
        merge(
            as_file(parts.plan),
            [(str(odd), FolderStore(odd))],
            FolderStore(parts.root / "m"),
            tell=told.append,
        )

    assert r"a\x0ab \x1b[31mred/records.jsonl.zst was altered" in str(error.value)
    assert all(text.isprintable() for text in (str(error.value), *told))


def test_parts_that_differ_on_a_run_are_a_conflict_that_names_both(parts: Parts) -> None:
    shards = thirds(parts)
    usual = parts.record
    parts.record = lambda run, **more: usual(run, tokens=101, **more)
    other = parts.part(parts.plan.runs[4:6])

    two = ", ".join(names(sorted(parts.plan.runs[4:6], key=lambda run: run.run_id)))
    with pytest.raises(MergeError, match=f"differ on run {two}: leave the one out") as error:
        parts.merge(*shards, other)
    assert str(shards[1]) in str(error.value)
    assert str(other) in str(error.value)
    assert error.value.tally.duplicate == 0


def test_earlier_attempts_that_differ_are_a_conflict_too(parts: Parts) -> None:
    """The same attempt cannot have cost two sums."""
    shards = thirds(parts)
    usual = parts.record
    parts.record = lambda run, **more: usual(run, **more, usd=0.75 if "outcome" in more else 0.5)
    other = parts.part(parts.plan.runs)

    with pytest.raises(MergeError, match="differ on run"):
        parts.merge(*shards, other)


def test_everything_that_is_wrong_is_told_at_once(parts: Parts) -> None:
    shards = thirds(parts)
    (shards[0] / "trial.json").unlink()
    says = alter_records(shards[1])

    with pytest.raises(MergeError, match=says) as error:
        parts.merge(*shards)
    assert f"{shards[0]} holds no trial" in str(error.value)
    assert "12 expected, 4 present, 8 missing" in str(error.value)


def test_a_part_of_another_plan_is_refused_by_name(parts: Parts) -> None:
    stranger = parts.part(parts.plan.runs[:2], plan_id="0" * 32)
    with pytest.raises(DataError, match=f"{stranger} belongs to plan 0+, not to {parts.plan.plan_id}"):
        parts.merge(stranger)


def test_a_manifest_of_another_plan_is_refused_by_name(parts: Parts) -> None:
    shards = thirds(parts)
    path = shards[1] / "manifest.json"
    path.write_text(path.read_text().replace(parts.plan.plan_id, "0" * 32))
    with pytest.raises(DataError, match=f"{shards[1]} belongs to plan 0+, not to"):
        parts.merge(*shards)


def test_a_table_of_other_runs_is_refused(parts: Parts) -> None:
    """Reports are made from it, so it must hold the rows of the records and no others."""
    shards = thirds(parts)
    path = shards[1] / "records.parquet"
    shutil.copy(shards[0] / "records.parquet", path)
    manifest = Manifest.parse((shards[1] / "manifest.json").read_bytes(), "")
    files = manifest.files | {path.name: FileFact(sha256=file_sha256(path), rows=4)}
    (shards[1] / "manifest.json").write_text(manifest.model_copy(update={"files": files}).to_json())

    with pytest.raises(MergeError, match="hold other runs than their records"):
        parts.merge(*shards)


class FullStore(FolderStore):
    """Takes no file."""

    def put_file(self, key: str, path: Path) -> None:
        raise OSError(28, "No space left on device", str(path), None, key)


def test_a_merge_that_was_broken_off_leaves_no_trial(parts: Parts) -> None:
    """What is there of it must not be read, nor added to."""
    shards = thirds(parts)
    merged, _ = parts.merge(*shards)
    with pytest.raises(OSError, match="No space left"):
        merge(as_file(parts.plan), [(str(part), FolderStore(part)) for part in shards], FullStore(merged))

    assert not {"trial.json", "manifest.json"} & {path.name for path in merged.iterdir()}


def test_a_run_that_is_not_in_the_plan_is_foreign(parts: Parts) -> None:
    shards = thirds(parts)
    stranger = PlannedRun("e" * 32, 99, "b9", None, "q9", "arm0", "g", 1)
    foreign = parts.part([stranger])
    with pytest.raises(MergeError, match="not in the plan: " + "e" * 32) as error:
        parts.merge(*shards, foreign)
    assert "1 foreign" in str(error.value)


def alter_run_file(part: Path) -> str:
    path = next(part.glob("runs/**/run.json"))
    path.write_text(path.read_text().replace('"passed"', '"failed"'))
    return r"run\.json was altered: it is not the record that the manifest names"


def alter_records(part: Path) -> str:
    path = part / "records.jsonl.zst"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return r"records\.jsonl\.zst was altered"


def alter_table(part: Path) -> str:
    path = part / "records.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    return r"records\.parquet was altered"


def remove_attempts(part: Path) -> str:
    (part / "attempts.jsonl.zst").unlink()
    return r"attempts\.jsonl\.zst is missing"


def alter_manifest(part: Path) -> str:
    path = part / "manifest.json"
    data = json.loads(path.read_text())
    run = next(iter(data["runs"]))
    data["runs"][run] = "0" * 64
    path.write_text(json.dumps(data))
    shutil.rmtree(part / "runs")
    record = next(json.loads(line) for line in read_lines(part / "records.jsonl.zst", ""))
    assert record["run_id"] == run
    name = f"{record['question']} {record['arm']} {record['agent']} #{record['rep']}"
    return f"the record of run {name} is not the manifest's"


def forget_a_run(part: Path) -> str:
    path = part / "manifest.json"
    data = json.loads(path.read_text())
    run = next(iter(data["runs"]))
    del data["runs"][run]
    path.write_text(json.dumps(data))
    return r"manifest\.json was altered: it does not name the runs that trial\.json does"


def say_that_the_last_run_is_missing(part: Path) -> None:
    path = part / "manifest.json"
    data = json.loads(path.read_text())
    data["runs"][max(data["runs"])] = None
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    "alter",
    [
        alter_run_file,
        alter_records,
        alter_table,
        remove_attempts,
        alter_manifest,
        forget_a_run,
    ],
)
def test_an_altered_part_is_refused(parts: Parts, alter: Callable[[Path], str]) -> None:
    shards = thirds(parts)
    says = alter(shards[1])
    with pytest.raises(DataError, match=says) as error:
        parts.merge(*shards)
    assert str(shards[1]) in str(error.value)


def test_a_record_that_the_manifest_hides_is_found(parts: Parts) -> None:
    """Whatever the manifest says is missing, the file of records must not hold it."""
    shards = thirds(parts)
    say_that_the_last_run_is_missing(shards[1])
    shutil.rmtree(shards[1] / "runs")

    with pytest.raises(MergeError, match="it holds a record that its manifest does not name"):
        parts.merge(*shards, partial=True)


def test_a_record_under_the_name_of_another_run_is_found(parts: Parts) -> None:
    """Though its manifest names every digest as it stands in the file."""
    shards = thirds(parts)
    path = shards[1] / "records.jsonl.zst"
    lines = list(read_lines(path, ""))[::-1]
    with LineWriter(path) as writer:
        for line in lines:
            writer.add(line)
    manifest = Manifest.parse((shards[1] / "manifest.json").read_bytes(), "")
    runs = dict(zip(sorted(manifest.runs), map(digest_of, lines), strict=True))
    files = manifest.files | {path.name: FileFact(sha256=file_sha256(path), rows=len(lines))}
    changed = manifest.model_copy(update={"runs": runs, "files": files})
    (shards[1] / "manifest.json").write_text(changed.to_json())
    shutil.rmtree(shards[1] / "runs")

    with pytest.raises(MergeError, match="is not the manifest's"):
        parts.merge(*shards)


def test_a_part_whose_runs_have_not_ended_is_taken_only_as_partial(parts: Parts) -> None:
    shards = thirds(parts)
    (shards[2] / "manifest.json").unlink()
    next(shards[2].glob("runs/**/run.json")).unlink()

    with pytest.raises(DataError, match="its runs have not ended"):
        parts.merge(*shards)
    _, tally = parts.merge(*shards, partial=True)
    assert (tally.present, len(tally.missing)) == (11, 1)


def test_what_differs_between_parts_stands_in_the_receipt(parts: Parts) -> None:
    runs = parts.plan.runs
    old = parts.part(runs[:6], versions={"tiltyard": "0.1", "python": "3.11"})
    new = parts.part(runs[6:], versions={"tiltyard": "0.2", "python": "3.11"})
    merged, _ = parts.merge(new, old)

    receipt = TrialReceipt.model_validate_json((merged / "trial.json").read_bytes())
    assert receipt.versions == {"tiltyard": "0.1", "python": "3.11"}
    assert receipt.drift == {"versions.tiltyard": ('"0.1"', '"0.2"')}


def test_an_empty_part_is_a_part(parts: Parts) -> None:
    merged, tally = parts.merge(parts.part(parts.plan.runs), parts.part([]))
    assert (tally.present, tally.missing) == (12, [])
    assert pq.read_table(merged / "records.parquet").num_rows == 12
