"""What one run needs, resolved: nothing in it has to be looked up in the spec again."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import docker

from tiltyard_gateway.client import GatewayProcess
from tiltyard_gateway.config import RunLimits, Upstream
from tiltyard_runner.agents import AgentTask
from tiltyard_runner.container import Bounds
from tiltyard_runner.owner import Owner
from tiltyard_runner.slot import Slot
from tiltyard_runner.turns import AgentTurns
from tiltyard_specs.record import ImageFact
from tiltyard_specs.spec_base import Auth


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """Which run this is; all of it stands in the record."""

    run_id: str
    trial: str
    question: str
    arm: str
    agent: str
    rep: int
    capability: str | None
    position: int
    """Place in the plan's order, from 0."""
    block: str
    """Id of the block: the same question, agent and rep over all arms."""


@dataclass(frozen=True, slots=True)
class Key:
    """How a question is graded."""

    expect: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    min_recall: float = 1.0
    verify: str | None = None
    hidden: Mapping[str, bytes] = field(default_factory=dict)
    """Path in the workspace -> content; present only while `verify` runs."""
    protect: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeterRules:
    """What the meter does with this run's calls, beside counting them."""

    limits: RunLimits = field(default_factory=RunLimits)
    rewrite: Mapping[str, str] = field(default_factory=dict)
    """Models to swap: exact names first, then wildcards in this order."""
    auth: Auth = "placebo"
    prompt_cache: Literal["keep", "off"] = "keep"
    nonce: bool = False
    proxied: bool = False
    """Whether single hosts are allowed, through the meter as a proxy."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run, ready to be executed any number of times."""

    identity: RunIdentity
    kind: str
    task: AgentTask
    key: Key
    image: str
    """Id of the arm image."""
    bounds: Bounds
    timeout: float
    """Seconds for the agent; `verify` gets as many again."""
    output_limit: int
    """Bytes kept of the agent's output."""
    trial_env: Mapping[str, str]
    """TRIAL_* variables and the arm's own, for setup and verify."""
    setup: tuple[str, ...] = ()
    """Commands to run in the run's container first (`setup_scope: run`)."""
    parallel_setup: bool = False
    uses: str | None = None
    claim: bool = False
    """Whether the prompt asks the agent to say what it did to check its answer."""
    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    """What overrides the trial's providers for this run."""
    meter: MeterRules = field(default_factory=MeterRules)
    effort: str | None = None
    policy: Mapping[str, object] = field(default_factory=dict)
    images: Mapping[str, ImageFact] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Keys in use, to be masked in results. The agent gets none of them."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run happens: one slot of one node."""

    client: docker.DockerClient
    gateway: GatewayProcess
    slot: Slot
    owner: Owner
    node: str
    stop: threading.Event
    """Set when runs under way must end now."""
    setup_lock: threading.Lock
    """Setups run one at a time on a node unless the arm says otherwise."""
    turns: AgentTurns = field(default_factory=AgentTurns)
    """How many agents work at once on the node."""
