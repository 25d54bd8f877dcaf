"""How a site gets the files of a run. Whoever builds a site brings a reader: a report knows no stores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

Record = Mapping[str, object]
"""A run.json object."""


@dataclass(frozen=True, slots=True)
class RunFile:
    """The beginning of a file of a run."""

    data: bytes
    whole: bool
    """Whether that is all of it."""
    size: int | None = None
    """Bytes of the whole file, where known."""


class RunFiles(Protocol):
    """Reads the files that lie beside a record."""

    def read(self, record: Record, name: str, limit: int) -> RunFile | None:
        """At most `limit` bytes of a file such as `patch.diff`; None when there is none."""
        ...


class NoFiles:
    """For results that have records alone."""

    def read(self, record: Record, name: str, limit: int) -> RunFile | None:  # noqa: ARG002 - the protocol's
        """See `RunFiles`."""
        return None
