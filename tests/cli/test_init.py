"""The example that `tiltyard init` writes is right, in both formats."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.mark.parametrize("name", ["trial.yaml", "trial.toml", "other.yml"])
def test_the_example_is_right(tiltyard: Command, tmp_path: Path, name: str) -> None:
    """It can be previewed at once: without a key, an engine, or a change."""
    written = tiltyard("init", name)
    preview = tiltyard("run", name, "--dry-run", DOCKER_HOST="unix:///nowhere.sock")

    assert written.code == 0
    assert written.out == f"Wrote {name}. Look at what it would do: tiltyard run {name} --dry-run\n"
    assert preview.code == 0
    assert preview.out.splitlines()[-1] == (
        f"24 runs, 0 done, 24 to run; results go to {name.partition('.')[0]}-results"
    )
    assert "#" in (tmp_path / name).read_text()


@pytest.mark.engine
def test_the_example_passes_check(tiltyard: Command) -> None:
    """Where its keys are set."""
    tiltyard("init", "trial.yaml")
    keys = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "y"}
    done = tiltyard("check", "trial.yaml", **keys)

    assert done.code == 0
    assert re.fullmatch(
        r"trial.yaml: right\. 2 questions, 2 arms, 2 agents, 3 repetitions each\.\n"
        r"Pre-registration hash: [0-9a-f]{64}\n",
        done.out,
    )


def test_both_formats_say_the_same(tiltyard: Command) -> None:
    """Run for run."""
    previews = []
    for name in ("trial.yaml", "trial.toml"):
        tiltyard("init", name)
        previews.append(tiltyard("run", name, "--dry-run").out)

    assert previews[0] == previews[1]


def test_nothing_is_overwritten(tiltyard: Command, tmp_path: Path) -> None:
    (tmp_path / "trial.yaml").write_text("mine")

    assert tiltyard("init").code == 64
    assert (tmp_path / "trial.yaml").read_text() == "mine"
