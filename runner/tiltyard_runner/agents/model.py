"""What goes into an agent and what comes out of it, without any agent's dialect.

The runner speaks only these types. An adapter turns an `AgentTask` into a `Launch`, and the two streams
that the agent leaves (`AgentOutput`) into an `AgentResult`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from tiltyard_specs.calls import Call
from tiltyard_specs.usage import Usage

Provider = Literal["anthropic", "openai"]

ErrorKind = Literal["api_error", "limit", "no_answer", "format", "crash", "timeout", "killed", "not_started"]
"""Why an agent ended without a usable answer.

- api_error: the provider refused or broke off for good.
- limit: a step or cost limit of the agent's own.
- no_answer: it ended normally and said nothing.
- format: it ended normally, but its output is not what its kind prints.
- crash: the process failed.
- timeout: the run's time was up.
- killed: its output breaks off, and no time limit was the reason.
- not_started: it failed without a word on standard output: its command line, its home, an MCP server.
"""

HOME = "/home/agent"
"""The agent's home in the container; the runner sets HOME to it."""
WORKSPACE = "/workspace"
"""The working tree and working directory."""
SCRATCH = "/tmp/.tiltyard"  # noqa: S108 - a path inside the container, which has one user and one life
"""Where launch files lie that belong neither to the agent's home nor to the tree."""


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill of an arm, in the form that CLIs load from `SKILL.md`."""

    name: str
    description: str
    content: str


@dataclass(frozen=True, slots=True)
class AgentTask:
    """Everything that an adapter needs to start one run."""

    prompt: str
    model: str | None = None
    effort: str | None = None
    edits: bool = False
    args: tuple[str, ...] = ()
    """Further arguments for the CLI, before the prompt."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Wins over what the adapter sets."""
    command: str | None = None
    """Runs instead of the CLI by `sh -c`; `{prompt}` is substituted shell-quoted."""
    gateway_url: str = "http://127.0.0.1:8484"
    placebo_key: str = "sk-placebo"
    login: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables with the agent's own login; empty for an agent that gets the placebo key."""
    mcp_servers: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Name to {command, args, env, tools}."""
    skills: tuple[Skill, ...] = ()
    instructions: str | None = None
    max_turns: int | None = None
    solution: bytes | None = None
    """The patch that the oracle applies."""

    def keys(self, *names: str) -> Mapping[str, str]:
        """The variables with the agent's key: its login, and nothing beside it that a CLI would prefer."""
        return self.login or dict.fromkeys(names, self.placebo_key)


@dataclass(frozen=True, slots=True)
class LaunchFile:
    """A file that must lie in the container before the agent starts."""

    path: str
    """Absolute, inside the container."""
    content: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start the agent: no shell is involved unless argv names one."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: tuple[LaunchFile, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """What an agent left: its two streams on disk, and how its process ended."""

    stdout: Path
    stderr: Path
    exit_code: int | None
    timed_out: bool = False
    usage_file: Path | None = None
    """A copy of the adapter's `result_file`; None when there is none, or when the agent left none."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call, under the name the agent's stream gives it."""

    name: str
    input: object


@dataclass(frozen=True, slots=True)
class AgentError:
    """Why there is no usable answer."""

    kind: ErrorKind
    status: int | None
    """HTTP status of the provider, where the agent said it."""
    message: str


@dataclass(frozen=True, slots=True)
class AgentResult:
    """One run as the agent itself tells it. The gateway's record is the truth about usage and cost."""

    answer: str | None = None
    turns: int | None = None
    """Model calls that the stream shows; None where it does not show them apart."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    """As reported, in canonical buckets; a bucket that the agent did not tell is None."""
    model: str | None = None
    cost_usd: float | None = None
    """As reported: some CLIs price an unknown model as their dearest one."""
    error: AgentError | None = None
    complete: bool = False
    """The stream has its own end; False when it was cut or the agent was killed."""
    offered: tuple[str, ...] = ()
    """What the stream says is there: a tool by its name, a connected server as `mcp:NAME`, a `skill:NAME`."""
    version: str | None = None
    session: str | None = None


class AgentAdapter(Protocol):
    """One kind of agent. Adapters hold no state: one object serves all runs."""

    @property
    def kind(self) -> str:
        """The name in a spec."""
        ...

    @property
    def provider(self) -> Provider | None:
        """Whose API it calls through the gateway; None for an agent that is not metered."""
        ...

    @property
    def layer(self) -> str | None:
        """Name of the image layer that holds its CLI; None when the base image is enough."""
        ...

    @property
    def result_file(self) -> str | None:
        """Absolute path of the container's file that `parse` needs as `usage_file`; None for most."""
        ...

    def treatment_files(self, task: AgentTask) -> tuple[LaunchFile, ...]:
        """The skills and instructions of an arm as the files from which this agent loads them."""
        ...

    def launch(self, task: AgentTask) -> Launch:
        """The command line, environment and files of one run."""
        ...

    def parse(self, output: AgentOutput) -> AgentResult:
        """Read the agent's streams line by line, however they ended."""
        ...

    def missing_treatment(
        self, task: AgentTask, result: AgentResult, calls: Sequence[Call]
    ) -> tuple[str, ...]:
        """What of the arm never reached the agent, as one phrase each; empty when nothing is missing."""
        ...
