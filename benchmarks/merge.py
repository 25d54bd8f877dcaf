"""How long merging takes, and how much memory: shards of a made-up plan, merged in a process of its own.

    .venv/bin/python benchmarks/merge.py [--runs 100000] [--shards 4] [--folder DIR]

Targets: 100,000 records under 2 s of CPU and 300 MB; a million under 30 s and 2 GB.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tiltyard_cluster.compaction import Files
from tiltyard_cluster.lines import digest_of
from tiltyard_cluster.plan import Plan, PlannedRun
from tiltyard_cluster.sharding import shard_runs, to_file
from tiltyard_specs.canonical import compact_json, content_id
from tiltyard_specs.manifest import Manifest
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.receipt import Selection, ShardName, TrialReceipt
from tiltyard_specs.record import ImageFact, Policy, RunRecord, Score, Spend, ToolCall
from tiltyard_specs.usage import Usage

CHILD = """
import json, resource, sys, time
from pathlib import Path
began = time.monotonic()
from tiltyard_cluster.merging import merge
from tiltyard_cluster.store import FolderStore
from tiltyard_specs.plan_file import parse_plan
folder = Path(sys.argv[1])
plan = parse_plan((folder / "plan.json").read_bytes(), "plan.json")
parts = [(str(path), FolderStore(path)) for path in sorted(folder.glob("shard-*"))]
tally = merge(plan, parts, FolderStore.create(folder / "merged"))
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "wall": time.monotonic() - began, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024,
    "words": tally.words(),
}))
"""


def main() -> None:
    """Make the shards, merge them, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="where they are made and kept; default: a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tiltyard-") as temporary:
        folder = given.folder or Path(temporary)
        if not (folder / "plan.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make(folder, given.runs, given.shards)
        command = [sys.executable, "-c", CHILD, str(folder)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(
        f"merge of {given.runs:,} records from {given.shards} shards: {found['wall']:.1f} s, "
        f"{found['cpu']:.1f} s of CPU, {found['mb']:.0f} MB ({found['words']})"
    )


def make(folder: Path, count: int, shards: int) -> None:
    """Write a plan and the compacted results of its shards."""
    runs = tuple(planned(number) for number in range(count))
    plan = Plan(content_id({"seed": 1, "runs": [run.run_id for run in runs]}, length=32), "bench", 1, runs)
    for index in range(1, shards + 1):
        make_shard(folder / f"shard-{index}", plan, ShardName(index=index, of=shards))
    file = to_file(plan, spec="t.yaml", selection=Selection(), commits={}, script=None, shards=shards)
    (folder / "plan.json").write_text(file.to_json())


def planned(number: int) -> PlannedRun:
    """A run of one of 50 questions in one of two arms."""
    block = number // 2
    run_id = content_id(number, length=32)
    return PlannedRun(
        run_id, number, f"b{block}", None, f"q{block % 50}", f"arm{number % 2}", "a", 1 + block // 50
    )


def make_shard(folder: Path, plan: Plan, name: ShardName) -> None:
    """Write the compacted result of a shard."""
    folder.mkdir()
    digests = {}
    runs = shard_runs(plan, name)
    with Files(folder) as files:
        for run in sorted(runs, key=lambda run: run.run_id):
            line = compact_json(record(run).to_data()).encode()
            digests[run.run_id] = digest_of(line)
            files.add(line)
    facts = {"plan_id": plan.plan_id, "trial": plan.trial, "shard": name}
    manifest = Manifest(**facts, partial=False, runs=digests, files=files.facts())
    (folder / "manifest.json").write_text(manifest.to_json())
    order = tuple(run.run_id for run in runs)
    receipt = TrialReceipt(**facts, seed=1, spec={}, order=order, started_at="2026-01-01T00:00:00Z")
    (folder / "trial.json").write_text(receipt.to_json())


def record(run: PlannedRun) -> RunRecord:
    """About two kilobytes, as a run with a few tool calls leaves."""
    usage = Usage(input=1000 + run.position, output=200)
    return RunRecord(
        run_id=run.run_id,
        trial="bench",
        question=run.question,
        arm=run.arm,
        agent=run.agent,
        rep=run.rep,
        attempt=1,
        outcome=Outcome.PASSED,
        answer="It is in the second function of the module, which is called twice. " * 2,
        score=Score(correct=True, recall=1.0),
        usage=usage,
        metered=Spend(usage=usage, cost_usd=run.position * 1e-6, calls=3),
        tool_calls=tuple(ToolCall(name="Bash", input={"command": f"grep -n x{n} src"}) for n in range(4)),
        turns=5,
        seconds=run.position * 0.001,
        started_at="2026-01-01T00:00:00Z",
        node="node-1",
        images={"arm": ImageFact(id="sha256:" + "a" * 64, tag="tiltyard/arm:x", key="k" * 32)},
        versions={"tiltyard": "0.1.0", "engine": "docker 20.10", "prices": "p" * 16},
        position=run.position,
        block=run.block,
        policy=Policy(network="sealed", history="none", setup_scope="image", limits={"cpus": 1}),
    )


if __name__ == "__main__":
    main()
