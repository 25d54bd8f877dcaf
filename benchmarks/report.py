"""How long a report takes, and how much memory: of compacted records, and beside another tool's report.

    .venv/bin/python benchmarks/report.py [--runs 750 100000 1000000] [--rounds 2] [--quick]

Each measurement is a process of its own, so that its peak memory is its own: it reads `records.parquet` as
`tiltyard report` does, analyses all of it and lays out Markdown. The best round counts. The peer is
agenticlens, which renders 100,000 attempts of its own format again, as HTML (the only form that it renders).
Then `tiltyard report` on a result of 10,000 runs, without and with 200 MB of logs beside its records.

Prints one line for each, `NAME RUNS: ...`: seconds of the whole process from its start, those in it after its
imports, those of a processor (which others on the machine disturb least), peak memory, and the size of the
HTML page, whose making is not in the times. With --quick a tenth of the attempts for the peer, and no
million.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ARMS, AGENTS, REPS = 4, 2, 25
PEER = 100_000
LOGGED = 10_000


def main() -> None:
    """Make the data, measure each in a process of its own, print the lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[750, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=2, help="rounds of each; the best counts")
    parser.add_argument("--quick", action="store_true", help="a tenth of the peer's attempts, no million")
    parser.add_argument("--child", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _child(*given.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        for runs in given.runs:
            if runs <= PEER or not given.quick:
                _measure("tiltyard", runs, _table(Path(folder), runs), given.rounds)
        attempts = PEER // 10 if given.quick else PEER
        _measure("agenticlens", attempts, _peer_file(Path(folder), attempts), given.rounds)
        _beside_logs(Path(folder), given.rounds)


def _measure(name: str, runs: int, path: Path, rounds: int) -> None:
    command = [sys.executable, __file__, "--child", name, str(path)]
    results = []
    for _ in range(rounds):
        begun = time.time()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        result = json.loads(done.stdout)
        results.append(result | {"whole": result["ended"] - begun})
    best = {key: min(result[key] for result in results) for key in results[0]}
    print(
        f"{name} {runs}: {best['whole']:.2f} s, {best['seconds']:.2f} s in process, {best['cpu']:.2f} s CPU, "
        f"{best['megabytes']:.0f} MB, HTML {best['html']:.2f} MB",
        flush=True,
    )


def _child(name: str, path: str) -> None:
    if name == "command":
        print(json.dumps(_command(Path(path))))
        return
    start, make_page = {"tiltyard": _ours, "agenticlens": _peer}[name](Path(path))
    result = {
        "seconds": time.perf_counter() - start,
        "ended": time.time(),
        "cpu": time.process_time(),
        "megabytes": _peak(),
    }
    # The page is measured by its size alone: its pictures take their own time, whatever the runs.
    print(json.dumps(result | {"html": len(make_page().encode()) / 1e6}))


def _peak() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _ours(path: Path) -> tuple[float, Callable[[], str]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - what a child loads is measured

    from tiltyard_report import analyse, render_markdown  # noqa: PLC0415
    from tiltyard_report.table_columns import LABELS, USED_COLUMNS  # noqa: PLC0415

    start = time.perf_counter()
    there = set(pq.read_schema(path).names)
    columns = [name for name in USED_COLUMNS if name in there]
    with pq.ParquetFile(path, read_dictionary=[name for name in LABELS if name in there]) as file:
        batches = file.iter_batches(batch_size=16384, columns=columns, use_threads=False)
        report = analyse(batches)
    render_markdown(report)

    def page() -> str:
        from tiltyard_report.html import render_html  # noqa: PLC0415

        return render_html(report)

    return start, page


def _beside_logs(folder: Path, rounds: int) -> None:
    """`tiltyard report` as a user runs it, without and with logs."""
    result = _result(folder, LOGGED)
    for megabytes in (0, 200):
        for number in range(megabytes // 10):
            raw = result / "runs" / f"question-{number:05}" / "arm0" / "agent0" / "1" / "raw.out"
            raw.parent.mkdir(parents=True)
            raw.write_bytes(bytes(10_000_000))
        command = [sys.executable, __file__, "--child", "command", str(result)]
        texts = [subprocess.run(command, check=True, capture_output=True).stdout for _ in range(rounds)]
        spent, peak = map(min, zip(*map(json.loads, texts), strict=True))
        print(
            f"tiltyard report, {LOGGED} runs, {megabytes} MB of logs: {spent:.2f} s CPU, {peak:.0f} MB",
            flush=True,
        )


def _command(result: Path) -> tuple[float, float]:
    """Processor time and memory of the command, which inherits the peak of the process that starts it."""
    command = str(Path(sys.executable).parent / "tiltyard")
    with Path(os.devnull).open("w") as nowhere:
        process = subprocess.Popen([command, "report", str(result)], stdout=nowhere)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("tiltyard report failed, so its time says nothing")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _result(folder: Path, runs: int) -> Path:
    """A compacted result, of which the records of runs are the table alone."""
    from tiltyard_cluster.lines import LineWriter, file_sha256  # noqa: PLC0415
    from tiltyard_specs.manifest import FileFact, Manifest  # noqa: PLC0415

    table = _table(folder, runs)
    with LineWriter(table.with_name("attempts.jsonl.zst")):
        pass
    ids = {f"{number:032x}": "0" * 64 for number in range(runs)}
    names = {"records.parquet": runs, "attempts.jsonl.zst": 0}
    facts = {
        name: FileFact(sha256=file_sha256(table.with_name(name)), rows=rows) for name, rows in names.items()
    }
    manifest = Manifest(plan_id="p", trial="t", partial=False, runs=dict(ids), files=facts)
    table.with_name("manifest.json").write_text(manifest.to_json())
    receipt = {
        "schema_version": 1, "trial": "t", "plan_id": "p", "seed": 1, "spec": {}, "order": [],
        "runs_expected": runs,
    }  # fmt: skip
    table.with_name("trial.json").write_text(json.dumps(receipt))
    return table.parent


def _table(folder: Path, runs: int) -> Path:
    """A table of records: questions, arms, agents and repetitions crossed, lognormal tokens, few outages."""
    import numpy as np  # noqa: PLC0415 - only what a report loads counts as its start
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    rng = np.random.default_rng(1)
    cell = ARMS * AGENTS * REPS
    index = np.arange(runs)
    outcomes = rng.choice(["passed", "failed", "infra", "timeout"], runs, p=[0.66, 0.3, 0.02, 0.02])
    fresh = rng.lognormal(9, 0.4, runs).astype(np.int64)
    text = pa.string()
    columns = {
        "run_id": pa.array([f"{number:032x}" for number in index], text),
        "question": pa.array([f"question-{number // cell:05}" for number in index], text),
        "arm": pa.array([f"arm{number % ARMS}" for number in index], text),
        "agent": pa.array([f"agent{number // ARMS % AGENTS}" for number in index], text),
        "rep": pa.array(index // (ARMS * AGENTS) % REPS + 1),
        "attempt": pa.array(np.ones(runs, np.int64)),
        "outcome": pa.array(outcomes.tolist(), text),
        "turns": pa.array(rng.integers(1, 30, runs)),
        "seconds": pa.array(rng.uniform(5, 300, runs)),
        "position": pa.array(index),
        "started_at": pa.array([f"2026-01-01T00:00:{number % 60:02}Z" for number in index], text),
        "model": pa.array(["model"] * runs, text),
        "tools": pa.array([["Bash", "Edit", "Bash"]] * runs, pa.list_(text)),
        "images": pa.array(['{"base":{"id":"sha256:b"}}'] * runs, text),
        "versions": pa.array(['{"tiltyard":"0.1.0"}'] * runs, text),
        "metered_cost_usd": pa.array(fresh * 2e-6),
        "metered_calls": pa.array(rng.integers(1, 30, runs)),
    }
    for prefix in ("usage", "metered_usage"):
        columns |= {f"{prefix}_input": pa.array(fresh), f"{prefix}_output": pa.array(fresh // 4)}
    path = folder / f"{runs}" / "records.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table(columns), path, compression="zstd", row_group_size=16384)
    return path


def _peer(path: Path) -> tuple[float, Callable[[], str]]:
    from agenticlens.experiments.html_report import render_experiment_html  # noqa: PLC0415
    from agenticlens.experiments.runner import load_experiment_report  # noqa: PLC0415

    start = time.perf_counter()
    html = render_experiment_html(load_experiment_report(path))
    return start, lambda: html


def _peer_file(folder: Path, attempts: int) -> Path:
    """Four variants, 25 trials each, as many cases as give the attempts: run by the peer, from records."""
    import numpy as np  # noqa: PLC0415
    from agenticlens.evaluation import default_registry  # noqa: PLC0415
    from agenticlens.experiments import runner  # noqa: PLC0415

    variants, trials = 4, 25
    cases = attempts // (variants * trials)
    rng = np.random.default_rng(2)
    suite = {
        "name": "suite", "version": "1",
        "cases": [
            {"id": f"case-{number}", "name": f"case {number}", "input": "2+2?", "expected_output": "4",
             "evaluators": [{"name": "exact_match"}]}
            for number in range(cases)
        ],
    }  # fmt: skip
    manifest = {
        "name": "experiment", "version": "1", "baseline_variant_id": "v0", "trial_count": trials,
        "variants": [
            {"id": f"v{number}", "name": f"v{number}", "target_kind": "recorded", "target": f"v{number}.json"}
            for number in range(variants)
        ],
    }  # fmt: skip
    trace = {"total_latency_ms": 5.0, "estimated_cost_usd": 0.01, "spans": []}
    for number in range(variants):
        right = rng.random((trials, cases)) < 0.7  # noqa: PLR2004 - a pass rate
        recorded = [
            [{"case_id": f"case-{at}", "output": "54"[ok], "trace": trace} for at, ok in enumerate(row)]
            for row in right.tolist()
        ]  # fmt: skip
        (folder / f"v{number}.json").write_text(json.dumps({"trials": recorded}))
    (folder / "suite.json").write_text(json.dumps(suite))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    loaded = runner.load_manifest(folder / "manifest.json")
    tests = runner.load_experiment_suite(folder / "suite.json")
    report = runner.run_experiment(loaded, tests, registry=default_registry())
    if any(trial.error_message for variant in report.variants for trial in variant.trials):
        raise SystemExit("the peer did not read what it was given, so its time says nothing")
    path = folder / "agenticlens.json"
    path.write_text(report.model_dump_json())
    return path


if __name__ == "__main__":
    main()
