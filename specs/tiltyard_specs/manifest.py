"""The manifest of a result, `manifest.json`: what it should hold and what it does, with a digest each record.

It is written last and removed first: where it stands, the compacted files beside it are whole and up to date.
"""

from typing import Self

from pydantic import Field
from pydantic_core import to_json

from tiltyard_specs.receipt import ShardName
from tiltyard_specs.record import RecordModel
from tiltyard_specs.versioned import parse_versioned

MANIFEST_VERSION = 1


class FileFact(RecordModel):
    """A compacted file."""

    sha256: str
    """Digest of its bytes."""
    rows: int
    """Records or rows in it."""


class Manifest(RecordModel):
    """What a whole result, a shard or a merged one holds."""

    schema_version: int = MANIFEST_VERSION
    """Version of this format."""
    plan_id: str
    """Id of the plan that the runs belong to."""
    trial: str
    """Name of the trial."""
    shard: ShardName | None = None
    """Which part of the plan it is; null for all of it."""
    merged: bool = False
    """Whether it was put together from others, so that it has no run.json files of its own."""
    partial: bool
    """Whether a run of the plan, or of the shard, has no record: no verdict rests on it."""
    runs: dict[str, str | None]
    """Every expected run, and the SHA-256 of its record as canonical JSON; null for one that is missing."""
    files: dict[str, FileFact] = Field(default_factory=dict)
    """The compacted files, by name."""

    @property
    def present(self) -> int:
        """How many runs have a record."""
        return sum(digest is not None for digest in self.runs.values())

    def to_json(self) -> str:
        """The text of manifest.json: the runs sorted, so that equal results are equal files."""
        runs = dict(sorted(self.runs.items()))
        # Not by the model's own schema, which is slow on a union: there may be a million runs.
        return to_json({**dict(self), "runs": runs}).decode() + "\n"

    @classmethod
    def parse(cls, text: str | bytes, source: str) -> Self:
        """Read a manifest; DataError when it is none or was written by a newer Tiltyard."""
        return parse_versioned(cls, text, source, newest=MANIFEST_VERSION)
