"""The trial spec: one experiment, as a person writes it in YAML or TOML.

The names are a contract: specs are kept beside the code that they test, and later versions read them.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from tiltyard_specs.agents import Agent
from tiltyard_specs.arms import Arm
from tiltyard_specs.questions import Capability, Question, Repo
from tiltyard_specs.scalars import Bool, Duration, Float, Int, KeyName, Name, Size, Text, Url, shown, wrong
from tiltyard_specs.spec_base import Provider, SpecModel

PositiveInt = Annotated[Int, Field(ge=1)]
Count = Annotated[Int, Field(ge=0)]
Price = Annotated[Float, Field(ge=0)]
Positive = Annotated[Float, Field(gt=0)]
_LEAST_MEMORY = 6 * 2**20


class Defaults(SpecModel):
    """What holds for every run unless an agent, arm or question says otherwise."""

    reps: PositiveInt = 3
    """Repetitions of each cell."""
    parallel: PositiveInt | None = None
    """Runs at once on a node; without it, what cpus and memory allow."""
    parallel_agents: PositiveInt | None = None
    """Of these, agents at work at once; without it, all. Setups and grading go on beside them."""
    timeout: Duration = 900.0
    """Limit of one run: 90s, 15m, 2h, or a number of seconds."""
    baseline: Name | None = None
    """The arm that others are compared with; without it, the first."""
    prompt_suffix: str = ""
    """Text after every prompt."""
    claim: Bool = False
    """Whether the prompt asks for a line VERIFICATION: what the agent did to check its answer."""


def _memory(value: int) -> int:
    if value < _LEAST_MEMORY:
        raise wrong(f"{value} bytes are too little for a container", "the engine's minimum is 6m")
    return value


class Limits(SpecModel):
    """What one run may use."""

    cpus: Annotated[Float, Field(ge=0.01, le=1024)] = 1
    """Processors; the engine's minimum is 0.01."""
    memory: Annotated[Size, AfterValidator(_memory)] = 2 * 2**30
    """Memory: 2g, 512m, or a number of bytes."""
    pids: PositiveInt = 512
    """Processes and threads at once."""
    disk: Size = 2 * 2**30
    """What the run may write."""
    output: Size = 64 * 2**20
    """What the agent may print."""
    usd: Positive | None = None
    """Spend of one run in US dollars."""
    tokens: PositiveInt | None = None
    """Tokens of one run, all kinds together."""
    turns: PositiveInt | None = None
    """Model calls of one run."""


class Budget(SpecModel):
    """What the whole trial may spend: exactly one of the two."""

    usd: Positive | None = None
    """US dollars, from the price table."""
    tokens: PositiveInt | None = None
    """Tokens, all kinds together."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.usd is None) == (self.tokens is None):
            raise wrong("needs exactly one of usd and tokens")
        return self


class PriceRow(SpecModel):
    """USD per million tokens of one model. What is left out is unknown, never 0."""

    input: Price
    """Uncached input."""
    output: Price
    """Output, reasoning included."""
    cache_read: Price | None = None
    """Input served from the prompt cache."""
    cache_write: Price | None = None
    """Input written to the prompt cache."""
    cache_write_1h: Price | None = None
    """Input written to the cache that is kept for an hour."""
    max_output: PositiveInt | None = None
    """Most output tokens of one call: the reserve where a request has no cap of its own."""


class GatewaySpec(SpecModel):
    """The metering gateway between agents and providers."""

    prompt_cache: Literal["keep", "off"] = "keep"
    """Whether prompt caching stays on."""
    nonce: Bool = False
    """Whether each run's prompts get a nonce, so that no run is served from another's cache."""
    upstreams: dict[Provider, Url] = Field(default_factory=dict)
    """Base URLs of the providers' APIs."""
    keys_from: dict[Provider, KeyName] = Field(default_factory=dict)
    """The NAME of the environment variable that holds each provider's key."""


def _host(value: str) -> str:
    if not value or any(part in value for part in ("/", " ", "*", "@")) or value.count(":") > 1:
        raise wrong(f"expected a host name such as pypi.example, got {shown(value)}")
    return value


class AllowHosts(SpecModel):
    """A sealed network with named exceptions, each connection recorded."""

    allow: tuple[Annotated[str, AfterValidator(_host)], ...] = Field(min_length=1)
    """Host names that the agent may reach besides the model."""


def _network_form(value: object) -> str:
    return "hosts" if isinstance(value, dict | AllowHosts) else "mode"


Network = Annotated[
    Annotated[Literal["sealed", "open"], Tag("mode")] | Annotated[AllowHosts, Tag("hosts")],
    Discriminator(_network_form),
]


class TrialSpec(SpecModel):
    """One trial: every question, put to every agent, under every arm, several times."""

    name: Name
    """Name of the trial."""
    seed: Count | None = None
    """Seed of the order of runs and of the statistics; without it, from the spec's content."""
    defaults: Defaults = Defaults()
    """Repetitions, time limit, baseline: what holds unless something below says otherwise."""
    limits: Limits = Limits()
    """What one run may use: processors, memory, disk, output, spend."""
    retries: Count = 2
    """New attempts after an outcome that is nobody's doing (infra)."""
    network: Network = "sealed"
    """sealed: the model and nothing else. open: everything. {allow: [host]}: sealed but for these."""
    history: Literal["none", "full"] = "none"
    """What `git log` shows the agent. History can hold the answer."""
    setup_scope: Literal["image", "run"] = "image"
    """Where an arm's setup runs: once in its image, or in each run's container."""
    protect: tuple[Text, ...] = ()
    """Paths that the agent must not change (patterns as in .gitignore)."""
    budget: Budget | None = None
    """What the whole trial may spend."""
    prices: dict[Name, PriceRow] = Field(default_factory=dict)
    """USD per million tokens, by model. A model without a row has an unknown price."""
    gateway: GatewaySpec = GatewaySpec()
    """The metering gateway."""
    repos: tuple[Repo, ...] = ()
    """Git repositories that questions are asked about."""
    arms: tuple[Arm, ...] = Field(default=(), json_schema_extra={"minItems": 1})
    """The conditions to compare."""
    agents: tuple[Agent, ...] = Field(default=(), json_schema_extra={"minItems": 1})
    """The agents under trial."""
    questions: tuple[Question, ...] = Field(default=(), json_schema_extra={"minItems": 1})
    """What the agents are asked."""
    capabilities: tuple[Capability, ...] = ()
    """Named sets of questions."""
