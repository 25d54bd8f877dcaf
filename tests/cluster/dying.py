"""A process that dies before any one of its writes, or whose disk is full from there on.

Python tells its audit hooks of each change of the file system before it is made. That makes the list of write
points complete by itself: every change that is made below a folder is a place to die.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_CHANGES = frozenset({"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "shutil.rmtree"})
_GROWS = frozenset({"os.mkdir", "os.rename", "os.link", "open"})
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class KilledError(BaseException):
    """Nothing that comes after it changes a file: not even the cleaning up of who catches it."""


@dataclass
class Fate:
    """When the driver dies, or when its disk is full."""

    root: str = ""
    at: int | None = None
    """Number of the change before which it happens."""
    full: bool = False
    seen: list[str] = field(default_factory=list)

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.root or not (event in _CHANGES or (event == "open" and (args[2] or 0) & _WRITES)):
            return
        # Within `rmtree` files go by their bare names.
        if not str(args[0]).startswith(self.root) and "/" in str(args[0]):
            return
        self.seen.append(f"{event} {Path(str(args[0])).name}")
        if self.at is None or len(self.seen) <= self.at:
            return
        if not self.full:
            raise KilledError
        if event in _GROWS:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(args[0]))


FATE = Fate()
_HOOKED: list[bool] = []


@contextmanager
def doomed(root: Path, at: int | None, *, full: bool = False) -> Iterator[Fate]:
    """Within the block the fate is that of who changes something below `root`."""
    if not _HOOKED:  # a hook stays for as long as the process
        sys.addaudithook(FATE.hear)
        _HOOKED.append(True)
    FATE.root, FATE.at, FATE.full, FATE.seen = str(root), at, full, []
    try:
        yield FATE
    finally:
        FATE.root = ""
