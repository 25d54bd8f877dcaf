"""Agents as they run: models times efforts expanded, and an arm's overrides applied."""

from collections.abc import Iterator
from itertools import product

from pydantic import Field

from tiltyard_specs.agents import Agent
from tiltyard_specs.arms import Arm
from tiltyard_specs.base import Model
from tiltyard_specs.kinds import UNMETERED_KINDS
from tiltyard_specs.spec_base import Auth, Provider

_OVERRIDES = ("command", "kind", "model", "args", "auth", "rewrite", "upstreams", "keys_from")


class AgentVariant(Model):
    """One agent with one model and one effort. The oracle may always edit: it applies patches."""

    name: str
    """As runs and reports call it: `codex@gpt-a@low`."""
    base: str
    """The agent's name in the spec: `codex`."""
    kind: str
    model: str | None = None
    effort: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    edits: bool = False
    implied_edits: bool = Field(default=False, exclude=True, repr=False)
    """Whether the agent may edit only because it is the oracle, not because the spec says so."""
    timeout: float | None = None
    """Seconds; None for the trial's default."""
    command: str | None = None
    auth: Auth = "placebo"
    rewrite: dict[str, str] = Field(default_factory=dict)
    upstreams: dict[Provider, str] = Field(default_factory=dict)
    keys_from: dict[Provider, str] = Field(default_factory=dict)

    @property
    def metered(self) -> bool:
        """Whether its model calls must go through the gateway."""
        return self.kind not in UNMETERED_KINDS

    def under(self, arm: Arm) -> "AgentVariant":
        """The agent as it runs in this arm: what the arm sets replaces the agent's own."""
        changes = {name: getattr(arm, name) for name in _OVERRIDES if getattr(arm, name) is not None}
        kind = changes.get("kind", self.kind)
        if kind == "oracle":
            changes["edits"] = True
        elif self.implied_edits:
            changes["edits"] = False
        return self.model_copy(update=changes)


def expand(agent: Agent) -> Iterator[AgentVariant]:
    """One variant per model and effort; only lists add to the name."""
    for model, effort in product(agent.models or (None,), agent.efforts or (None,)):
        is_oracle = agent.resolved_kind == "oracle"
        yield AgentVariant(
            name="@".join(part for part in (agent.name, model, effort) if part),
            base=agent.name,
            kind=agent.resolved_kind or "",
            model=model or agent.model,
            effort=effort or agent.effort,
            args=agent.args,
            env=agent.env,
            edits=agent.edits or is_oracle,
            implied_edits=is_oracle and not agent.edits,
            timeout=agent.timeout,
            command=agent.command,
            auth=agent.auth,
            rewrite=agent.rewrite,
            upstreams=agent.upstreams,
            keys_from=agent.keys_from,
        )
