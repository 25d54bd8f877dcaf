"""File systems mounted for a test, and the end of those that a killed test session left mounted."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def mounted(folder: Path, *what: str) -> Iterator[None]:
    """Mount something on a folder, which is made if it is missing, as long as the `with` lasts.

    Args:
        folder: Where.
        what: Arguments of `mount`.
    """
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", *what, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def small_disk(size: str) -> tuple[str, ...]:
    """What to mount to have a disk of so many bytes, as in `40m`."""
    return "-t", "tmpfs", "-o", f"size={size}", "tmpfs"


def fill(path: Path) -> None:
    """Take the last byte of a disk by a file on it."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * (1 << 16))


def unmount_left(temporary: Path) -> list[Path]:
    """Unmount what test sessions that have ended left mounted below their folders.

    pytest removes the folders of old sessions, and fails at a mount.

    Args:
        temporary: Where pytest keeps the folders of its sessions (`pytest-of-USER/pytest-N`).

    Returns:
        The mounts that are ended now, the innermost first.
    """
    sessions = [folder for user in temporary.glob("pytest-of-*") for folder in user.iterdir()]
    left = [
        mount
        for mount in reversed(_mounts())
        if any(mount.is_relative_to(session) and not _is_alive(session) for session in sessions)
    ]
    for mount in left:
        subprocess.run(["umount", "--lazy", str(mount)], check=True)
    return left


def temporary_root() -> Path:
    """Where pytest keeps the folders of its sessions unless it is told otherwise."""
    return Path(os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir()).resolve()


def _mounts() -> list[Path]:
    # proc_pid_mountinfo(5): the fifth field, with blanks and the like as octal numbers.
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [Path(line.split()[4].encode().decode("unicode_escape")) for line in lines]


def _is_alive(session: Path) -> bool:
    """Whether the process that pytest noted in the session's lock still runs."""
    try:
        process = int((session / ".lock").read_text())
    except (OSError, ValueError):
        return False
    return Path(f"/proc/{process}").exists()
