"""Runs git on this machine, shut off from the user's own configuration and from any prompt."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tiltyard_images.errors import RepoError

QUICK = 120.0
"""Seconds for a git command that only reads."""
FETCH = 1800.0
"""Seconds for a clone or a fetch."""

_SHUT_OFF = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_CONFIG_GLOBAL": str(Path(__file__).with_name("gitconfig")),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "LC_ALL": "C",
}


class GitError(RepoError):
    """A git command failed; the message is what git said."""


def git(
    *args: str,
    cwd: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    timeout: float = QUICK,
) -> bytes:
    """Run one git command and return what it printed.

    Raises:
        GitError: It failed or took too long.
    """
    command = ["git", *args]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            input=stdin,
            env=_environ(env or {}),
            timeout=timeout,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise GitError(f"`{' '.join(command[:3])}` took longer than {timeout:.0f} s.") from error
    except FileNotFoundError as error:
        raise GitError("git is not installed: install it (`sudo apt-get install git`).") from error
    if done.returncode != 0:
        raise GitError(_said(done.stderr) or f"`{' '.join(command[:3])}` exited with {done.returncode}.")
    return done.stdout


def _said(stderr: bytes) -> str:
    """Return the first complaint of git as a sentence."""
    lines = stderr.decode(errors="replace").splitlines()
    told = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines[:1]
    return told[0].partition(": ")[2].rstrip(".") + "." if told and ": " in told[0] else "".join(told)


def _environ(extra: Mapping[str, str]) -> dict[str, str]:
    # GIT_DIR and its kin are set inside a git hook and would send every command to the wrong repository.
    mine = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or "SSL" in name}
    return {**mine, **_SHUT_OFF, **extra}
