"""The plan of a trial as a file, `plan.json`: what shards run and what a merge must find.

Runs are held by column: a plan of a million runs is read in seconds.
"""

import hashlib
from typing import Annotated, Self

from pydantic import Field, model_validator

from tiltyard_specs.canonical import compact_json
from tiltyard_specs.receipt import Selection
from tiltyard_specs.record import RecordModel
from tiltyard_specs.versioned import parse_versioned

PLAN_VERSION = 1
_PLAN_ID = 32
"""Hex digits of a plan's id."""


class PlanColumns(RecordModel):
    """Every run, in execution order; the columns are of one length."""

    run_id: tuple[str, ...]
    """Content id of what determines the run."""
    block: tuple[str, ...]
    """Id of its block: the same question, agent and rep over all arms."""
    capability: tuple[str | None, ...]
    """The capability that the question is asked for."""
    question: tuple[str, ...]
    """Id of the question."""
    arm: tuple[str, ...]
    """Name of the arm."""
    agent: tuple[str, ...]
    """Name of the agent variant."""
    rep: tuple[int, ...]
    """Repetition, from 1."""
    position: tuple[int, ...]
    """Place in the order of the whole spec, from 0; a selection leaves gaps."""

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        columns = (self.block, self.capability, self.question, self.arm, self.agent, self.rep, self.position)
        if any(len(column) != len(self.run_id) for column in columns):
            raise ValueError("the columns differ in length")
        return self


class PlanFile(RecordModel):
    """A plan with all that a machine needs to run its part of it."""

    schema_version: int = PLAN_VERSION
    """Version of this format."""
    plan_id: str
    """Content id of the seed and of every run, in order."""
    trial: str
    """Name of the trial."""
    seed: int
    """Seed of the order and of the statistics."""
    spec: str
    """Path of the spec, from the folder of this file."""
    selection: Selection = Selection()
    """Which part of the spec was asked for."""
    commits: dict[str, str] = Field(default_factory=dict)
    """The commit of each repo: every shard works on the same, wherever refs have moved to."""
    script: str | None = None
    """Digest of the model script that answers instead of a provider."""
    shards: Annotated[int, Field(ge=1)] = 1
    """Into how many parts it is to be cut."""
    runs: PlanColumns
    """Every run."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        # Of a number and texts, the quick text is the canonical one.
        text = compact_json({"seed": self.seed, "runs": self.runs.run_id})
        if self.plan_id != hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_PLAN_ID]:
            raise ValueError("plan_id is not the id of these runs: the file was changed by hand or damaged")
        if len(set(self.runs.run_id)) != len(self.runs.run_id):
            raise ValueError("a run stands in it twice")
        return self

    def to_json(self) -> str:
        """The text of plan.json: sorted, so that equal plans are equal files."""
        return compact_json(self.model_dump(mode="json")) + "\n"


def parse_plan(text: str | bytes, source: str) -> PlanFile:
    """Read a plan; DataError when it is none, was changed, or was written by a newer Tiltyard."""
    return parse_versioned(PlanFile, text, source, newest=PLAN_VERSION)
