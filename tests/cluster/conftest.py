"""A small trial with files of every sort, and ways to vary it; no engine is needed here."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_cluster.plan import Plan, PlannedRun, make_plan
from tiltyard_specs import Outcome, RunRecord, Trial, Usage, load_trial
from tiltyard_specs.record import Spend

SPEC = """\
name: small
seed: 7
defaults: {reps: 2, timeout: 60, baseline: plain}
prices:
  gpt-a: {input: 1, output: 2, max_output: 1000}
repos:
  - {name: app, source: app.bundle}
  - {name: other, source: other.bundle}
arms:
  - name: plain
  - {name: docs, overlay: overlay, env: {MODE: fast}}
agents:
  - {name: probe, kind: text, command: "echo {prompt}"}
  - {name: codex, models: [gpt-a, gpt-b]}
questions:
  - {id: q1, repo: app, prompt: "One?", expect: [one]}
  - {id: q2, prompt: "Two?", verify: "true", hidden: {check.py: graders/check.py}}
"""
PATCH = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
COMMITS = {"app": "a" * 40, "other": "b" * 40}
Write = Callable[..., Path]
MakePlan = Callable[..., Plan]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the spec, with pairs of texts replaced, beside the files that it names."""

    def _write(*changes: tuple[str, str], text: str = SPEC, name: str = "trial.yaml") -> Path:
        for old, new in changes:
            assert old in text, f"{old!r} is not in the spec"
            text = text.replace(old, new, 1)
        for file in (
            "overlay/a.md",
            "graders/check.py",
            "solution.patch",
            "one.txt",
            "app.bundle",
            "other.bundle",
        ):
            path = tmp_path / file
            path.parent.mkdir(exist_ok=True)
            if not path.exists():
                path.write_text(PATCH if path.suffix == ".patch" else file)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return _write


@pytest.fixture
def trial(write: Write) -> Callable[..., Trial]:
    """Load the spec with changes."""
    return lambda *changes, **options: load_trial(write(*changes, **options))


@pytest.fixture
def plan(trial: Callable[..., Trial]) -> MakePlan:
    """Plan the spec with changes."""
    return lambda *changes, **options: make_plan(trial(*changes, **options), COMMITS)


@pytest.fixture
def planned() -> PlannedRun:
    """One run."""
    return PlannedRun("f" * 32, 3, "block", None, "q", "a", "g", 1)


@pytest.fixture
def record() -> Callable[..., RunRecord]:
    """The record of a planned run."""

    def _record(
        run: PlannedRun,
        *,
        outcome: Outcome = Outcome.PASSED,
        attempt: int = 1,
        usd: float | None = 0.5,
        tokens: int = 100,
    ) -> RunRecord:
        usage = Usage(input=tokens, output=0)
        return RunRecord(
            run_id=run.run_id,
            trial="small",
            capability=run.capability,
            question=run.question,
            arm=run.arm,
            agent=run.agent,
            rep=run.rep,
            attempt=attempt,
            outcome=outcome,
            usage=usage,
            metered=Spend(usage=usage, cost_usd=usd, calls=1),
            seconds=1.0,
            started_at="2026-01-01T00:00:00Z",
            node="here",
            position=run.position,
            block=run.block,
        )

    return _record
