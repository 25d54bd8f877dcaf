"""The command, so that a test reads what a user reads."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tiltyard_cli.main import main

TILTYARD = str(Path(sys.executable).with_name("tiltyard"))
SPEC = """\
name: small
defaults: {reps: 1}
arms:
  - name: plain
  - name: docs
agents:
  - {name: probe, kind: text, command: "echo 4"}
questions:
  - {id: sum, prompt: "2+2?", expect: ["4"]}
"""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def tiltyard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command in the test's folder, with more in the environment. In this process: that is quick."""

    def run(*args: str, **environ: str) -> Done:
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setattr(sys, "argv", ["tiltyard", *args])
            for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
                patch.delenv(name, raising=False)
            for name, value in environ.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as caught:
                main()
        out, err = capfd.readouterr()
        assert "Traceback" not in err, err
        return Done(int(str(caught.value.code)), out, err)

    return run


@pytest.fixture
def process(tmp_path: Path) -> Command:
    """Run the command in the test's folder as a process of its own."""

    def run(*args: str, **environ: str) -> Done:
        done = subprocess.run(
            [TILTYARD, *args],
            cwd=tmp_path,
            env=os.environ | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def writer(tmp_path: Path) -> Callable[..., Callable[..., Path]]:
    """Makes a function that writes a text as the spec, with changes."""

    def of(text: str) -> Callable[..., Path]:
        def write(*changes: tuple[str, str]) -> Path:
            changed = text
            for old, new in changes:
                assert old in changed
                changed = changed.replace(old, new)
            path = tmp_path / "trial.yaml"
            path.write_text(changed)
            return path

        return write

    return of


@pytest.fixture
def spec(writer: Callable[..., Callable[..., Path]]) -> Callable[..., Path]:
    """Write a sound spec with changes."""
    return writer(SPEC)
