"""The agents of a trial: agent CLIs with a model and options."""

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from tiltyard_specs.kinds import KNOWN_KINDS, Kind
from tiltyard_specs.scalars import Bool, Duration, EnvName, KeyName, Name, Text, Url, shown, wrong
from tiltyard_specs.spec_base import Auth, Provider, SpecModel


def _sandbox_off(value: object) -> object:
    if value != "off":
        raise wrong(
            f"the CLI's own sandbox can only be off, got {shown(value)}",
            "inside Docker it fails on every command; the container is the sandbox",
        )
    return value


Sandbox = Annotated[str, BeforeValidator(_sandbox_off), WithJsonSchema({"const": "off"})]


class Agent(SpecModel):
    """An agent CLI; lists of models and efforts expand into one agent each."""

    name: Name
    """Unique name; also the kind, when it is the name of one."""
    kind: Kind | None = None
    """How its output is read: claude, codex, text (standard output is the answer), oracle or nop."""
    model: Name | None = None
    """The model, pinned."""
    models: tuple[Name, ...] | None = Field(default=None, min_length=1)
    """Several models: one agent each, called NAME@MODEL."""
    effort: Name | None = None
    """Reasoning effort, in the CLI's own words."""
    efforts: tuple[Name, ...] | None = Field(default=None, min_length=1)
    """Several efforts: one agent each, called NAME@EFFORT or NAME@MODEL@EFFORT."""
    args: tuple[str, ...] = ()
    """Extra arguments of the CLI."""
    env: dict[EnvName, str] = Field(default_factory=dict)
    """Environment of the agent."""
    edits: Bool = False
    """Whether the agent may change files; if not, the tree is read-only to it. The oracle always may."""
    timeout: Duration | None = None
    """Limit of one run, instead of `defaults.timeout`."""
    command: Text | None = None
    """A command of your own, run by a shell; `{prompt}` is replaced by the quoted prompt."""
    auth: Auth = "placebo"
    """placebo: a worthless key, for which the gateway swaps in the real one. passthrough: its own login."""
    rewrite: dict[Name, Name] = Field(default_factory=dict)
    """Models to swap on the way: exact names first, then wildcards in the order of the file."""
    upstreams: dict[Provider, Url] = Field(default_factory=dict)
    """Base URLs of the provider's API for this agent."""
    keys_from: dict[Provider, KeyName] = Field(default_factory=dict)
    """The NAME of the environment variable that holds the provider's key."""
    sandbox: Sandbox | None = None
    """Only "off": inside Docker the CLI's own sandbox fails, and the container is the sandbox."""

    @model_validator(mode="after")
    def _one_way_to_name_models(self) -> Self:
        for one, many in (("model", "models"), ("effort", "efforts")):
            if getattr(self, one) is not None and getattr(self, many) is not None:
                raise wrong(f"has both {one} and {many}", "keep one of them")
        return self

    @property
    def resolved_kind(self) -> str | None:
        """The kind, or the name when that is a known kind."""
        return self.kind or (self.name if self.name in KNOWN_KINDS else None)
