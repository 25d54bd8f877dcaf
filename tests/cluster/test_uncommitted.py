"""What is not committed is in no run, and is told."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_cluster.uncommitted import uncommitted
from tiltyard_specs import Trial

REPO = ("source: app.bundle", "source: app")


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@localhost")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / "kept.txt").write_text("kept\n")
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    subprocess.run(["git", *who, "commit", "--quiet", "-m", "start"], cwd=folder, check=True)
    return folder


def test_a_clean_repository_is_not_told(app: Path, trial: Callable[..., Trial]) -> None:
    """Nor is a bundle, in which nothing can be uncommitted."""
    assert list(uncommitted(trial(REPO))) == []


def test_changed_and_new_files_are_told(app: Path, trial: Callable[..., Trial]) -> None:
    (app / "kept.txt").write_text("changed\n")
    for number in range(3):
        (app / f"new {number}").write_text("new\n")

    (told,) = uncommitted(trial(REPO))

    assert told == (
        "repo app: changes that are not committed are left out of every run: "
        "kept.txt, new 0, new 1 and 1 more"
    )
