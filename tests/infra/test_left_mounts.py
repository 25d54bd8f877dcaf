"""A test session that was killed with a file system mounted does not fail the next ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mounts import mounted, small_disk, unmount_left

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root"),
]
PROJECT = Path(__file__).parents[2]


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A mount in the folder of a session that has ended, beside those of four later ones."""
    for number in range(5):
        (tmp_path / "pytest-of-root" / f"pytest-{number}").mkdir(parents=True)
    return tmp_path / "pytest-of-root" / "pytest-0" / "a disk"


def test_what_an_ended_session_left_mounted_is_ended(left: Path, tmp_path: Path) -> None:
    """Innermost first; what a session that runs has mounted stays."""
    running = tmp_path / "pytest-of-root" / "pytest-4"
    (running / ".lock").write_text(str(os.getpid()))
    with mounted(running / "disk", *small_disk("1m")):
        left.mkdir()
        for folder in (left, left / "inner"):
            folder.mkdir(exist_ok=True)
            subprocess.run(["mount", *small_disk("1m"), str(folder)], check=True)

        assert unmount_left(tmp_path) == [left / "inner", left]

        assert (running / "disk").is_mount()
    assert unmount_left(tmp_path) == []


def test_a_session_ends_well_beside_what_cannot_be_removed(left: Path, tmp_path: Path) -> None:
    """pytest warns of it as it removes old folders, and a warning is an error here, but for this one."""
    test = tmp_path / "test_one.py"
    test.write_text("def test_one(tmp_path):\n    assert tmp_path.is_dir()\n")
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(PROJECT / "pyproject.toml"), str(test)]
    environ = {**os.environ, "PYTEST_DEBUG_TEMPROOT": str(tmp_path)}
    left.mkdir()
    subprocess.run(["mount", *small_disk("1m"), str(left)], check=True)
    try:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    finally:
        (ended,) = unmount_left(tmp_path)

    assert ended.match("garbage-*/a disk")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr
