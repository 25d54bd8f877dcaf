"""The receipt of a whole trial: `trial.json`. With the records, every reported number follows from it."""

import re
from typing import Any, Self

from pydantic import ConfigDict, Field

from tiltyard_specs.errors import UsageError
from tiltyard_specs.prices import PriceTable
from tiltyard_specs.record import ImageFact, RecordModel
from tiltyard_specs.versioned import parse_versioned

RECEIPT_VERSION = 1
_SHARD = re.compile(r"([0-9]+)/([0-9]+)")


class RepoFact(RecordModel):
    """A repo as it was resolved."""

    source: str
    """URL or path, as the spec gives it."""
    ref: str | None = None
    """Ref, as the spec gives it."""
    commit: str
    """The commit that the ref named."""


class EngineFact(RecordModel):
    """The container engine."""

    model_config = ConfigDict(extra="allow")

    version: str
    """Version of the engine."""
    platform: str
    """Operating system and architecture: linux/amd64."""
    api_version: str | None = None
    """Version of the engine's API."""


class Selection(RecordModel):
    """Which part of the spec was asked for; empty means all."""

    questions: tuple[str, ...] = ()
    """Ids of questions."""
    arms: tuple[str, ...] = ()
    """Names of arms."""
    agents: tuple[str, ...] = ()
    """Names of agents, or of their variants."""
    reps: int | None = None
    """Repetitions, instead of the spec's."""


class ShardName(RecordModel):
    """Which part of a plan: shard `index` of `of`, counted from 1."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `2/5`.

        Raises:
            UsageError: It is not two whole numbers, or the first is not between 1 and the second.
        """
        found = _SHARD.fullmatch(text)
        index, of = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= index <= of:
            raise UsageError(f"{text!r} names no shard: give I/N, with I from 1 to N, such as 2/5")
        return cls(index=index, of=of)


class Registration(RecordModel):
    """What was to be done and how it was to be judged, fixed before the first run."""

    hash: str
    """SHA-256 over all parts: of the spec, and of the files that it names."""
    at: str
    """RFC 3339, UTC: when the trial was first started."""
    parts: dict[str, str] = Field(default_factory=dict)
    """A digest of each part of the spec by its name, such as questions.inherit.expect."""


class Amendment(RecordModel):
    """A start whose spec was not that of the start before."""

    hash: str
    """The pre-registration hash that this spec would have had."""
    at: str
    """RFC 3339, UTC."""
    changed: tuple[str, ...] = ()
    """Parts that are not as they were at the first start; none where all was changed back."""


class TrialReceipt(RecordModel):
    """What was run, in which order, on what."""

    schema_version: int = RECEIPT_VERSION
    """Version of this format."""
    trial: str
    """Name of the trial."""
    plan_id: str
    """Content id of the plan: every run, in order."""
    seed: int
    """Seed of the order and of the statistics."""
    spec: dict[str, Any]
    """The spec as resolved."""
    order: tuple[str, ...] = ()
    """Ids of the runs, in execution order."""
    runs_expected: int = 0
    """How many runs the plan holds; of a shard, how many that holds."""
    runs_by_arm: dict[str, int] = Field(default_factory=dict)
    """How many of them each arm has; empty in receipts of earlier versions."""
    selection: Selection = Selection()
    """Which part of the spec was asked for."""
    repos: dict[str, RepoFact] = Field(default_factory=dict)
    """Repos, resolved."""
    images: dict[str, ImageFact] = Field(default_factory=dict)
    """Images used."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of Tiltyard, Python and the agent CLIs."""
    prices: dict[str, PriceTable] = Field(default_factory=dict)
    """Every price table that a start of the trial used, by its version, which the records name."""
    engine: EngineFact | None = None
    """The container engine."""
    policy: dict[str, Any] = Field(default_factory=dict)
    """Network, history, setup scope, caching: what was in force."""
    started_at: str = ""
    """RFC 3339, UTC: when the trial was first started."""
    registration: Registration | None = None
    """The spec as it was then; null in receipts of earlier versions."""
    amendments: tuple[Amendment, ...] = ()
    """Every later change of it, in order."""
    shard: ShardName | None = None
    """Which part of the plan was run; null for all of it."""
    missing: int = 0
    """Runs that a merged result lacks: it is PARTIAL, and no verdict rests on it."""
    drift: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """What differed between the parts of a merged result: each value as JSON, by what it is of."""

    def to_json(self) -> str:
        """The text of trial.json."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"

    def to_data(self) -> dict[str, Any]:
        """Plain data, as in trial.json."""
        return self.model_dump(mode="json", by_alias=True)


def parse_receipt(text: str | bytes, source: str) -> TrialReceipt:
    """Read a receipt; DataError when it is none or was written by a newer Tiltyard."""
    return parse_versioned(TrialReceipt, text, source, newest=RECEIPT_VERSION)
