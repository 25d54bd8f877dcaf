"""What may lie in an overlay: nothing that is waited for, nothing unreadable, and no git data."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_specs import load_trial

Sentences = Callable[..., list[str]]
OVERLAID = ("name: docs", "name: docs\n    overlay: o")
ONLY = "overlays hold files, folders and links only; take it out"


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    folder = tmp_path / "o"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "fine.txt").write_text("x")
    return folder


def test_a_fifo_is_refused_and_not_waited_for(sentences: Sentences, overlay: Path) -> None:
    os.mkfifo(overlay / "deep" / "er" / "pipe")

    assert sentences(OVERLAID) == [f'trial.yaml:5: arms[1].overlay: "o/deep/er/pipe" is a FIFO: {ONLY}']


def test_a_socket_is_refused(
    sentences: Sentences, overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.bind("o/s")

    assert sentences(OVERLAID) == [f'trial.yaml:5: arms[1].overlay: "o/s" is a socket: {ONLY}']


@pytest.mark.parametrize("place", [".git", "deep/er/.git"])
@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_git_data_is_refused_wherever_it_lies(
    sentences: Sentences, overlay: Path, place: str, kind: str
) -> None:
    """A submodule's `.git` is a file, and a link would be merged as well."""
    git = overlay / place
    if kind == "folder":
        git.mkdir()
    elif kind == "file":
        git.write_text("gitdir: elsewhere\n")
    else:
        git.symlink_to("deep")

    (told,) = sentences(OVERLAID)

    assert told.startswith(f'trial.yaml:5: arms[1].overlay: "o/{place}" would be merged over the workspace')
    assert told.endswith("overlays must not hold .git; take it out")


def test_files_that_are_only_called_like_git_data_are_fine(write: Callable[..., Path], overlay: Path) -> None:
    (overlay / ".gitignore").write_text("x\n")
    (overlay / ".github").mkdir()
    (overlay / "dangling").symlink_to("made-in-the-image")

    assert load_trial(write(OVERLAID)).arm("docs").overlay == "o"


def test_a_link_that_goes_round_is_refused(sentences: Sentences, overlay: Path) -> None:
    (overlay / "round").symlink_to("round")

    assert sentences(OVERLAID)[0].endswith(
        '"o/round" is a symbolic link that cannot be followed; take it out'
    )


def test_a_name_that_is_no_text_can_be_told(sentences: Sentences, overlay: Path) -> None:
    os.mkfifo(os.fsencode(overlay) + b"/\xff\x1b[2J")

    assert '"o/\\udcff\\x1b[2J" is a FIFO' in sentences(OVERLAID)[0]


@pytest.mark.parametrize("name", ["file", "folder", "."])
def test_what_cannot_be_read_is_told(write: Callable[..., Path], overlay: Path, name: str) -> None:
    """Asked as an ordinary user: root may read everything."""
    victim = overlay / name
    if name == "folder":
        victim.mkdir()
    elif name == "file":
        victim.write_text("x")
    spec = write(OVERLAID)
    victim.chmod(0)

    told = _load_as_nobody(spec)
    victim.chmod(0o755)

    shown = "o" if name == "." else f"o/{name}"
    assert f'"{shown}" cannot be read; change its permissions, or take it out' in told


def _load_as_nobody(spec: Path) -> str:
    spec.parent.chmod(0o755)
    code = (
        "import os\n"
        "from tiltyard_specs import load_trial, SpecError\n"
        "def tell():\n"
        "    try: load_trial('trial.yaml')\n"
        "    except SpecError as error: print(error)\n"
        "if os.getuid() == 0:\n"
        "    tell()  # loads what an ordinary user cannot read where Python is root's own\n"
        "    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "tell()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=spec.parent, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("key", ["hidden", "solution"])
def test_a_fifo_for_a_file_is_refused(sentences: Sentences, tmp_path: Path, key: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    value = "{t.py: pipe}" if key == "hidden" else "pipe"

    told = sentences(("    expect: [it]", f"    verify: v\n    {key}: {value}"))

    assert 'the file "pipe" is no regular file; paths are relative to the spec file' in told[0]


def test_a_fifo_for_a_spec_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trial.yaml")
    code = "import sys, tiltyard_specs as s; s.load_trial(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "trial.yaml")],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert done.stderr.rstrip().endswith("trial.yaml: is no regular file")
