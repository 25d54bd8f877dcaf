"""Ends all processes of a session: a Ray node's workers have process groups of their own, but one session."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_ROUNDS = 20


def session_members(session: int) -> Iterator[int]:
    """The living processes of a session; those that only wait to be reaped are left out."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):
            # The command name stands in parentheses and may hold spaces: count fields after it (proc(5)).
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] not in "ZX":
                yield int(folder.name)


def kill_session(session: int) -> None:
    """Kill every process of a session, also those that it starts meanwhile."""
    for _ in range(_ROUNDS):
        members = list(session_members(session))
        if not members:
            return
        for member in members:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
