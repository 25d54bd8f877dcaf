"""Pages of results wherever they lie and whatever state they are in: S3, merged, shards, partial merges."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tiltyard_cli.site_source import LiveSite, load_site, signature
from tiltyard_cluster import FolderStore, open_result
from tiltyard_cluster.addresses import open_store
from tiltyard_cluster.compaction import Share, compact
from tiltyard_cluster.layout import RECORD, run_key
from tiltyard_cluster.merging import merge
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.sharding import to_file
from tiltyard_report.site import write_site
from tiltyard_specs import content_id
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.receipt import Selection, ShardName

pytestmark = pytest.mark.slow
Command = Callable[..., Any]
CHANGED = "run/change+fix-range/docs/claude/1.html"


@dataclass(frozen=True)
class Places:
    """A sample whole, in two shards, merged, and its first shard merged alone."""

    root: Path
    file: PlanFile

    def merge(self, target: str, *parts: str) -> None:
        """Join parts, which may lie in S3."""
        stores = [(name, open_result(name)) for name in (str(self.root / part) for part in parts)]
        merge(
            self.file,
            stores,
            FolderStore.create(self.root / target),
            allow_partial=len(parts) == 1,
        )


@pytest.fixture(scope="module")
def places(sample: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Two questions, three arms, two agents, two repetitions: 8 blocks, of which the first shard has 5."""
    root = tmp_path_factory.mktemp("places")
    sample.write_sample(root / "whole", 2, 2)
    records = sorted(
        (json.loads(path.read_text()) for path in root.rglob(RECORD)), key=lambda record: record["position"]
    )
    runs = tuple(map(_planned, records))
    plan_id = content_id({"seed": 7, "runs": [run.run_id for run in runs]}, length=32)
    plan = Plan(plan_id, "docs-layer", 7, runs)
    file = to_file(plan, spec="t", selection=Selection(), commits={}, script=None, shards=2)
    blocks = plan.blocks()
    for number, part in ((1, blocks[:5]), (2, blocks[5:])):
        own = tuple(run for block in part for run in block)
        _shard(root, plan, own, ShardName(index=number, of=2))
    made = Places(root, file)
    made.merge("merged", "shard1", "shard2")
    made.merge("part", "shard1")
    return made


def _planned(record: dict[str, Any]) -> PlannedRun:
    block = "-".join(map(str, (record["question"], record["agent"], record["rep"])))
    names = ("run_id", "position", "capability", "question", "arm", "agent", "rep")
    return PlannedRun(**{name: record[name] for name in names}, block=block)


def _shard(root: Path, plan: Plan, runs: tuple[PlannedRun, ...], shard: ShardName) -> None:
    """What a run of the shard leaves: its runs, its receipt, its compacted records."""
    folder = root / f"shard{shard.index}"
    for run in runs:
        shutil.copytree(root / "whole" / run_key(run), folder / run_key(run))
    receipt = json.loads((root / "whole/trial.json").read_text())
    receipt |= {
        "plan_id": plan.plan_id,
        "shard": shard.model_dump(),
        "order": [run.run_id for run in runs],
        "runs_expected": len(runs),
    }
    (folder / "trial.json").write_text(json.dumps(receipt))
    compact(FolderStore.create(folder), Share(plan.plan_id, plan.trial, runs, shard))


def pages_of(folder: Path) -> dict[str, str]:
    """Every page of a site by its path."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.html"))}


@pytest.fixture(scope="module")
def stored(places: Places, s3_service: Any) -> str:
    """The shards in S3, and what was merged from there into S3; ends with the address of the bucket."""
    bucket = f"s3://{s3_service.bucket}/{places.root.name}"
    for number in (1, 2):
        folder, store = FolderStore(places.root / f"shard{number}"), open_result(f"{bucket}/shard{number}")
        for key in folder.list(""):
            store.put(key, folder.get(key) or b"")
    parts = [(name, open_result(name)) for name in (f"{bucket}/shard1", f"{bucket}/shard2")]
    merge(places.file, parts, open_store(f"{bucket}/merged"))
    return bucket


@pytest.fixture(scope="module")
def whole_pages(places: Places, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The site of the whole result in its folder."""
    folder = tmp_path_factory.mktemp("site")
    name = str(places.root / "whole")
    write_site(load_site(name, open_result(name), None, None), folder / "site")
    return pages_of(folder / "site")


def test_a_merged_result_has_the_pages_of_the_whole_one(
    places: Places, whole_pages: dict[str, str], tiltyard: Command, tmp_path: Path
) -> None:
    """Though it holds no file of a run: those lie with its shards."""
    done = tiltyard("report", str(places.root / "merged"), "--site", "site")

    assert (done.code, done.out) == (0, "")
    assert pages_of(tmp_path / "site") == whole_pages
    assert "diff --git" in whole_pages[CHANGED]
    assert "A made-up prompt for fix-range." in whole_pages[CHANGED]


def test_what_lies_in_s3_has_them_too(
    stored: str, whole_pages: dict[str, str], tiltyard: Command, tmp_path: Path
) -> None:
    done = tiltyard("report", f"{stored}/merged", "--site", "site", "--out", "r.md")

    assert (done.code, done.out) == (0, "")
    assert pages_of(tmp_path / "site") == whole_pages
    assert (tmp_path / "r.md").read_text().startswith("# docs-layer\n")


@pytest.mark.parametrize("name", ["merged", "shard1"])
def test_view_shows_what_lies_in_s3_and_what_changes_there(stored: str, name: str) -> None:
    """Read once: the page of a run with its patch; and news, once an object was written again."""
    address = f"{stored}/{name}"
    store, now = open_result(address), [0.0]
    site = LiveSite(partial(load_site, address, store, None), partial(signature, store), clock=lambda: now[0])
    before, receipt = site.version(), store.get("trial.json") or b""
    assert "diff --git" in (site.page(CHANGED) or "")
    assert "<h1>Arm" in (site.page("arm/docs.html") or "")

    store.put("trial.json", receipt + b" ")
    now[0] = 1e6
    try:
        assert site.version() != before
    finally:
        store.put("trial.json", receipt)


@pytest.mark.parametrize(("name", "planned"), [("shard1", 15), ("part", 24)])
def test_pages_of_a_part_say_so_and_judge_nothing(
    places: Places, tiltyard: Command, tmp_path: Path, name: str, planned: int
) -> None:
    """Each page is marked, groups are the completed ones, and no verdict stands anywhere."""
    done = tiltyard("report", str(places.root / name), "--site", "site", "--out", "r.json")
    pages, data = pages_of(tmp_path / "site"), json.loads((tmp_path / "r.json").read_text())

    assert done.code == 0
    assert (data["state"], data["runs"], data["expected_runs"]) == ("partial", 15, planned)
    assert [path for path, text in pages.items() if '<span class="mark">PARTIAL</span>' not in text] == []
    assert sum(path.startswith("run/") for path in pages) == 15
    assert data["incomplete_groups"] == 3
    assert {(arm["agent"], _questions(arm)) for arm in data["groups"]} == {("claude", ("inherit",))}
    verdicts = {row["relative_tokens"]["decision"]["verdict"] for row in _compared(data)}
    assert verdicts | {row["delta"]["passes"]["decision"]["verdict"] for row in _compared(data)} == {
        "no verdict"
    }
    assert not re.search(r">(cheaper|dearer|higher|lower|no clear difference)<", pages["index.html"])


def _questions(group: dict[str, Any]) -> tuple[str, ...]:
    """Names of the questions in a group."""
    inner = tuple(name for below in group["groups"] for name in _questions(below))
    return (group["name"],) if group["level"] == "question" else inner


def _compared(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for agent in data["agents"] for row in agent["arms"] if row["delta"]]
