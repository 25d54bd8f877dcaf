"""Every command line that is printed works when it is pasted where the user is."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # many processes

BIN = Path(sys.executable).parent
Command = Callable[..., Any]


@pytest.fixture
def typed(tmp_path: Path) -> Callable[..., str]:
    """Start the command as it is typed in a shell, with a PATH; what it prints."""
    (tmp_path / ".venv").symlink_to(BIN.parent)
    (tmp_path / "with blank").symlink_to(BIN)

    def run(program: str, *args: str, path: str = "/usr/bin:/bin") -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", '"$0" "$@"', program, *args],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize(
    ("program", "path", "shown"),
    [
        (".venv/bin/tiltyard", "/usr/bin:/bin", ".venv/bin/tiltyard"),
        ("./with blank/tiltyard", "/usr/bin:/bin", "'./with blank/tiltyard'"),
        (".venv/bin/tiltyard", f"{BIN}:/bin", "tiltyard"),
        ("tiltyard", f"{BIN}:/bin", "tiltyard"),
    ],
)
def test_hints_name_the_command_as_it_was_typed(
    typed: Callable[..., str], program: str, path: str, shown: str
) -> None:
    hint = typed(program, "init", "my trial.yaml", path=path)
    page = typed(program, "--help", path=path)
    nothing = typed(program, "help", "me", path=path)

    assert hint.endswith(f"what it would do: {shown} run 'my trial.yaml' --dry-run\n")
    assert f"`{shown} init trial.yaml`" in " ".join(page.split())
    assert nothing.endswith(f"and each command: {shown} --help\n")


def test_a_printed_hint_can_be_pasted(typed: Callable[..., str], tmp_path: Path) -> None:
    hint = typed(".venv/bin/tiltyard", "init").strip().rpartition("would do: ")[2]
    pasted = subprocess.run(["/bin/sh", "-c", hint], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert "runs, 0 done" in pasted.stdout
