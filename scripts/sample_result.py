"""Writes a made-up result, the same at each start, so that screenshots and tests of pages have what to show.

    .venv/bin/python scripts/sample_result.py FOLDER [QUESTIONS [REPETITIONS]]

No model was asked and nothing in it means anything.
"""

import json
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tiltyard_cluster.layout import run_key
from tiltyard_specs.record import parse_record

ARMS = {"plain": (1.0, 0.0), "docs": (0.72, 0.12), "graph": (1.04, 0.03)}
"""Factor on tokens, and gain in the chance to pass."""
AGENTS = {"claude": ("claude-sonnet-4-5", 3.4e-6), "codex@gpt-5.1@low": ("gpt-5.1", 1.9e-6)}
"""Model, and USD a token."""
TOPICS = (
    "inherit",
    "fix-range",
    "entry-points",
    "rename-flag",
    "empty-default",
    "callers",
    "cache-key",
    "exit-code",
)
_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_PATCH = """\
diff --git a/src/app/ranges.py b/src/app/ranges.py
index 3f1c2ab..9d0e4cc 100644
--- a/src/app/ranges.py
+++ b/src/app/ranges.py
@@ -12,7 +12,7 @@ class Range:
     def clamp(self, value: int) -> int:
-        return min(value, self.high)
+        return max(self.low, min(value, self.high))

     def __contains__(self, value: int) -> bool:
"""


def questions(count: int) -> list[str]:
    """Names of so many questions."""
    return [TOPICS[place] if place < len(TOPICS) else f"case-{place + 1:03}" for place in range(count)]


def records(count: int, reps: int) -> Iterator[dict[str, Any]]:
    """The records, in the order in which they might have run."""
    source = random.Random(7)  # noqa: S311 - made-up numbers
    hard = {name: (source.uniform(0.35, 0.95), source.uniform(12_000, 90_000)) for name in questions(count)}
    position = 0
    for rep in range(1, reps + 1):
        for question, difficulty in hard.items():
            for agent in sorted(AGENTS):
                for arm in source.sample(sorted(ARMS), len(ARMS)):
                    yield _record(source, question, arm, agent, rep, position, difficulty)
                    position += 1


def _record(
    source: random.Random,
    question: str,
    arm: str,
    agent: str,
    rep: int,
    position: int,
    hard: tuple[float, float],
) -> dict[str, Any]:
    factor, gain = ARMS[arm]
    model, price = AGENTS[agent]
    change = question.startswith(("fix", "rename", "empty", "case"))
    passed = source.random() < min(hard[0] + gain, 0.98)
    tokens = int(hard[1] * factor * source.lognormvariate(0, 0.25))
    usage = {
        "input": tokens // 5,
        "cache_read": tokens // 2,
        "cache_write": 0,
        "reasoning": None,
        "cache_write_1h": None,
    }
    usage["output"] = tokens - tokens // 5 - tokens // 2
    outcome = "passed" if passed else "timeout" if source.random() < 0.1 else "failed"  # noqa: PLR2004
    spend = {"usage": usage, "cost_usd": round(tokens * price, 6), "calls": 4}
    verify = {
        "command": "python3 -m pytest -q tests/test_ranges.py",
        "exit_code": int(not passed),
        "passed": passed,
        "seconds": 1.4,
    }
    missing = [] if passed else [r"\bArgument\b"]
    return {
        "schema_version": 1,
        "run_id": f"{position:032x}",
        "trial": "docs-layer",
        "capability": "change" if change else "navigation",
        "question": question,
        "arm": arm,
        "agent": agent,
        "rep": rep,
        "attempt": 1,
        "outcome": outcome,
        "reason": {"passed": None, "failed": "the check did not pass", "timeout": "stopped after 900 s"}[
            outcome
        ],
        "answer": "Both ends are clamped now; the test passes." if change else "Option and Argument.",
        "score": None
        if change
        else {"correct": passed, "recall": 1.0 if passed else 0.5, "missing": missing},
        "verify": verify if change else None,
        "usage": usage,
        "metered": spend,
        "reported": spend,
        "tool_calls": [
            {"name": "Bash", "input": {"command": "rg -n 'class .*Parameter' src"}},
            {"name": "Read", "input": {"file_path": "src/app/ranges.py", "limit": 80}},
        ],
        "turns": 4,
        "seconds": round(tokens / 900 * source.uniform(0.8, 1.3), 1),
        "started_at": (_START + timedelta(seconds=40 * position)).isoformat().replace("+00:00", "Z"),
        "node": "node-1",
        "images": {"arm": {"id": f"sha256:{arm:0>64}", "tag": f"tiltyard/arm:{arm}"}},
        "versions": {"tiltyard": "0.1.0", "agent": "2.1.0"},
        "position": position,
        "model": model,
        "kind": agent.partition("@")[0],
        "used_tool": arm == "docs" or None,
        "policy": {
            "network": "sealed",
            "history": "none",
            "setup_scope": "image",
            "limits": {"memory": 2 << 30},
        },
    }


def write_sample(folder: Path, count: int = 6, reps: int = 6) -> None:
    """Write the result."""
    order = []
    for record in records(count, reps):
        order.append(record["run_id"])
        _write_run(folder / run_key(parse_record(json.dumps(record), "sample")), record)
    spec = {
        "name": "docs-layer",
        "network": "sealed",
        "defaults": {"baseline": "plain", "reps": reps},
        "arms": [{"name": arm} for arm in ARMS],
        "agents": [{"name": agent} for agent in AGENTS],
        "questions": [{"id": name} for name in questions(count)],
    }
    receipt = {
        "schema_version": 1,
        "trial": "docs-layer",
        "plan_id": "0" * 32,
        "seed": 7,
        "spec": spec,
        "order": order,
        "runs_expected": len(order),
        "policy": {"network": "sealed"},
    }
    (folder / "trial.json").write_text(json.dumps(receipt))


def _write_run(place: Path, record: dict[str, Any]) -> None:
    place.mkdir(parents=True)
    (place / "run.json").write_text(json.dumps(record))
    (place / "prompt.txt").write_text(f"A made-up prompt for {record['question']}.\n\nAnswer briefly.\n")
    part = {bucket: (value or 0) // 4 for bucket, value in record["usage"].items()}
    calls = [
        {
            "index": number,
            "model": record["model"],
            "role": record["model"],
            "status": 200,
            "outcome": "ok",
            "usage": part,
            "cost_usd": record["metered"]["cost_usd"] / 4,
            "seconds": 2.5,
        }
        for number in range(1, 5)
    ]
    (place / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    (place / "raw.out").write_text('{"type": "result", "subtype": "success"}\n')
    if record["verify"]:
        (place / "patch.diff").write_text(_PATCH)
        (place / "verify.log").write_text(
            "7 passed in 0.21s\n" if record["outcome"] == "passed" else "1 failed\n"
        )


if __name__ == "__main__":
    write_sample(Path(sys.argv[1]), *map(int, sys.argv[2:4]))
