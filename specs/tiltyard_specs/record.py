"""The record that a run leaves: `run.json`, a versioned format that outlives the version that wrote it.

The order of the fields is the order in the file. A later schema version may add fields; the version is read
before the fields, so that a newer file says "upgrade" and not "unknown key".
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from tiltyard_specs.base import Model
from tiltyard_specs.claim_record import Claim
from tiltyard_specs.difference_record import Difference
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record_bounds import out_of_bounds
from tiltyard_specs.usage import Usage
from tiltyard_specs.versioned import parse_versioned

RECORD_VERSION = 1
DiskBound = Literal["quota", "watched"]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class RecordModel(Model):
    """A part of a record, described by its attribute docstrings in the published schema."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Score(RecordModel):
    """How the final answer compares with the answer key."""

    correct: bool
    """Whether the answer passes: recall high enough and nothing forbidden."""
    recall: Finite | None = None
    """Fraction of `expect` that matched; null when the question has none."""
    missing: tuple[str, ...] = ()
    """Patterns of `expect` that did not match."""
    forbidden: tuple[str, ...] = ()
    """Patterns of `forbid` that matched."""


class VerifyResult(RecordModel):
    """What the verify command said, in a pristine container."""

    command: str
    """The shell command."""
    exit_code: int | None
    """Its exit status; null when it was killed before it ended."""
    passed: bool
    """Whether it exited 0 in time."""
    seconds: Finite
    """How long it took."""
    timed_out: bool = False
    """Whether it was killed at its time limit."""


class Spend(RecordModel):
    """Usage and cost from one source: the meter, or the agent's own report."""

    usage: Usage | None = None
    """Tokens; null when unknown. A lower bound where `incomplete` says so."""
    cost_usd: Finite | None = None
    """US dollars; null when unknown, which is not 0."""
    least_usd: Finite | None = None
    """US dollars of the calls whose cost is known, where that is not all of them: then `cost_usd` is null."""
    calls: int | None = None
    """Model calls; null when unknown."""
    incomplete: int | None = None
    """Calls that may have been billed and whose usage is not fully known; null when there is none."""
    charged_usd: Finite | None = None
    """What a budget in US dollars was charged: the worst case stands in for usage that is unknown."""
    charged_tokens: int | None = None
    """What a budget in tokens was charged, likewise."""
    imputed: bool | None = None
    """True when the agent's own login paid: the cost is what its tokens cost at list price; else null."""
    held_seconds: Finite | None = None
    """How long calls were held back because a provider was overloaded."""


class Delivery(RecordModel):
    """Whether the arm's MCP servers, skills and tools reached the agent."""

    ok: bool
    """Whether nothing is missing."""
    expected: tuple[str, ...] = ()
    """What the arm should bring."""
    missing: tuple[str, ...] = ()
    """What of it the agent or the model never saw."""


class ToolCall(RecordModel):
    """One tool call of the agent."""

    name: str
    """The tool, as the agent calls it."""
    input: dict[str, JsonValue] | list[JsonValue] | str
    """What the agent passed to it."""


class ImageFact(RecordModel):
    """An image that a run used."""

    id: str
    """The engine's id of the image (a digest)."""
    tag: str | None = None
    """The name that it had."""
    key: str | None = None
    """Tiltyard's content key of the layer."""
    origin: str | None = None
    """Where a base image came from: a registry, or a bootstrap on this machine."""


class PatchFact(RecordModel):
    """The change that the agent left in the workspace; the patch itself is in patch.diff."""

    files: tuple[str, ...]
    """Paths that changed."""
    bytes: int
    """Size of the patch."""
    sha256: str
    """Digest of the patch."""


class Policy(RecordModel):
    """Under which rules the run took place."""

    network: str | dict[str, JsonValue]
    """sealed, open, or {allow: [...]}."""
    history: str
    """What `git log` showed the agent: none or full."""
    setup_scope: str
    """Where setup ran: image or run."""
    limits: dict[str, JsonValue] = Field(default_factory=dict)
    """Limits of the run, as resolved."""
    disk_bound: DiskBound | None = None
    """quota: the engine's storage keeps the disk limit; watched: the size was asked for at intervals."""


class AgentErrorFact(RecordModel):
    """The error that the agent reported."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    class_: Annotated[str, Field(alias="class")]
    """Kind of error: rate_limit, api_error, crashed, ..."""
    status: int | None = None
    """HTTP status of the provider, where there was one."""
    message: str = ""
    """The agent's words, redacted and shortened."""


class RunRecord(RecordModel):
    """One attempt at one run, from start to verdict."""

    schema_version: int = RECORD_VERSION
    """Version of this format."""
    run_id: str
    """Content id of what determines the run."""
    trial: str
    """Name of the trial."""
    capability: str | None = None
    """The capability that the question is asked for; null where none are used."""
    question: str
    """Id of the question."""
    arm: str
    """Name of the arm."""
    agent: str
    """Name of the agent variant: codex@gpt-a@low."""
    rep: int
    """Repetition, from 1."""
    attempt: int
    """Attempt at this run, from 1."""
    outcome: Outcome
    """How it ended."""
    reason: str | None = None
    """Why, where the outcome alone does not say."""
    answer: str | None = None
    """The agent's final answer; null when there was none."""
    score: Score | None = None
    """Result of the answer key; null when not scored."""
    verify: VerifyResult | None = None
    """Result of the verify command; null when not run."""
    usage: Usage | None = None
    """Tokens: the metered ones where there are any, else the reported ones; null when known only in part."""
    metered: Spend | None = None
    """As the gateway metered it."""
    reported: Spend | None = None
    """As the agent reported it."""
    delivered: Delivery | None = None
    """Whether the arm's additions reached the agent; null when there are none."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Every tool call, in order."""
    turns: int | None = None
    """Model calls as the agent counts them; null when unknown."""
    seconds: Finite
    """Wall time of the agent."""
    started_at: str
    """RFC 3339, UTC."""
    node: str
    """Name of the machine."""
    images: dict[str, ImageFact] = Field(default_factory=dict)
    """Images used: base, agent, workspace, arm."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of Tiltyard, the agent CLI, the engine, and the price table (`prices`)."""
    position: int = 0
    """Place of the run in the plan's order, from 0."""
    block: str = ""
    """Id of the block that the run belongs to."""
    model: str | None = None
    """The model asked for."""
    effort: str | None = None
    """The reasoning effort asked for."""
    kind: str = ""
    """How the agent's output was read."""
    edits: bool = False
    """Whether the agent might change files."""
    used_tool: bool | None = None
    """Whether a tool call matched the arm's `uses`; null when it has none."""
    exit_code: int | None = None
    """Exit status of the agent."""
    timed_out: bool = False
    """Whether the agent was stopped at its time limit."""
    history_reads: tuple[str, ...] = ()
    """Tool calls that read the repository's history, where an answer may lie; cut, and at most 20."""
    tampered: tuple[str, ...] = ()
    """Protected paths that the agent touched."""
    patch: PatchFact | None = None
    """The agent's change; null when the workspace was not read."""
    policy: Policy | None = None
    """Under which rules the run took place."""
    agent_error: AgentErrorFact | None = None
    """The error that the agent reported."""
    claim: Claim | None = None
    """What the agent says of its own checks; null when it was not asked."""
    difference: Difference | None = None
    """How the agent's account differs from the meter's; null where they agree or nothing was metered."""
    warnings: tuple[str, ...] = ()
    """What a reader of the record should know."""

    def to_json(self) -> str:
        """The text of run.json."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"

    def to_data(self) -> dict[str, Any]:
        """Plain data, as in run.json."""
        return self.model_dump(mode="json", by_alias=True)


def parse_record(text: str | bytes, source: str) -> RunRecord:
    """Read a record.

    Args:
        text: What run.json holds.
        source: Name of the file, for messages.

    Raises:
        DataError: It is not a record, is cut off, holds what no run can have, or was written by a newer
            Tiltyard.
    """
    return parse_versioned(RunRecord, text, source, newest=RECORD_VERSION, check=out_of_bounds)
