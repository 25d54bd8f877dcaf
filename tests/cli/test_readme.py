"""The Python examples of the README run as they stand there."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tiltyard_cluster import RunOptions

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
SPEC = """\
name: readme
defaults: {reps: 2}
limits: {memory: 128m}
arms: [{name: plain}, {name: docs, prompt_suffix: Briefly.}]
agents: [{name: probe, kind: text, command: "echo 4"}]
questions: [{id: sum, prompt: "2+2?", expect: ["4"]}]
"""
SCRIPT = "conversations: [{turns: [{text: It is 4.}]}]"


def test_the_readme_shows_the_python_api() -> None:
    assert any("load_trial(" in block and "run_trial(" in block for block in BLOCKS)


def test_options_explain_themselves() -> None:
    """`help(RunOptions)` names every one of them."""
    for field in dataclasses.fields(RunOptions):
        assert f"        {field.name}: " in str(RunOptions.__doc__)
    assert RunOptions(model_script="script.yaml").script == Path("script.yaml")


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_runs(block: str, tmp_path: Path) -> None:
    """In a folder that holds the demo, a small trial.yaml and a model script, with warnings as errors."""
    shutil.copytree(ROOT / "specs" / "examples", tmp_path, dirs_exist_ok=True)
    (tmp_path / "trial.yaml").write_text(SPEC)
    (tmp_path / "script.yaml").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("sum") >= 4


@pytest.mark.engine
@pytest.mark.slow
def test_the_python_api(tmp_path: Path) -> None:
    """`load_trial` and `run_trial` are all that a script needs; a second call does nothing again."""
    (tmp_path / "trial.yaml").write_text(SPEC)
    code = """
from tiltyard_specs import load_trial
from tiltyard_cluster import RunOptions, run_trial

trial = load_trial("trial.yaml")
events = []
first = run_trial(trial, "results", RunOptions(listen=events.append))
assert first.complete and not first.unhealthy
assert {outcome.value: count for outcome, count in first.outcomes.items()} == {"passed": 4}
assert [record.run_id for record in first.records] == [run.run_id for run in first.plan.runs]
assert events
again = run_trial(trial, "results")
assert again.records == first.records
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
