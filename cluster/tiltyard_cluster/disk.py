"""What a results folder can do to a trial under way: it fills up, turns read-only, or goes away.

Such a trial stops. Each further run would cost money for a result that cannot be kept.
"""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker.errors
import requests

from tiltyard_specs.errors import UnavailableError

ROOM = 16 << 20
"""Free bytes below which no attempt begins: its output, record and calls go to this disk."""
_ADVICE = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
    errno.EFBIG: "make room there",
    errno.EROFS: "make it writable",
    errno.EACCES: "make it writable",
    errno.EPERM: "make it writable",
    errno.ENOENT: "it was moved or removed during the trial, so put it back or name its new place with --out",
}


class ResultsFolderError(UnavailableError):
    """The results folder can take no more; what is finished stays."""

    def __init__(self, folder: Path, what: str, number: int | None) -> None:
        advice = _ADVICE.get(number or 0, "mend that")
        super().__init__(
            f"the results folder {folder} cannot be used: {what}; finished runs are kept: "
            f"{advice}, then start the trial again to go on"
        )


@contextmanager
def disk_trouble(folder: Path) -> Iterator[None]:
    """Within the block the system's errors are told as the results folder's.

    Raises:
        ResultsFolderError: One came up.
    """
    try:
        yield
    except (docker.errors.DockerException, requests.RequestException):
        # These are `OSError`s as well, and none of the disk's.
        raise
    except OSError as error:
        raise ResultsFolderError(folder, error.strerror or str(error), error.errno) from error


def require_room(folder: Path, room: int = ROOM) -> None:
    """See that an attempt's files fit.

    Raises:
        ResultsFolderError: They may not, or the folder is gone.
    """
    with disk_trouble(folder):
        free = shutil.disk_usage(folder).free
    if free < room:
        what = f"it has {free / 1e6:.0f} MB free, and a run asks for {room / 1e6:.0f} MB"
        raise ResultsFolderError(folder, what, errno.ENOSPC)
