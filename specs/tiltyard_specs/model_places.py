"""Which models an agent may call in an arm, and where the spec names each."""

from collections.abc import Iterator

from tiltyard_specs.agents import Agent
from tiltyard_specs.arms import Arm
from tiltyard_specs.problems import KeyPath
from tiltyard_specs.rewrite import rewrite_model
from tiltyard_specs.variants import AgentVariant


def called_models(
    numbered_agent: tuple[int, Agent], variant: AgentVariant, numbered_arm: tuple[int, Arm]
) -> Iterator[tuple[KeyPath, str]]:
    """Every model that may be called, and where the spec names it."""
    (i, agent), (j, arm) = numbered_agent, numbered_arm
    running = variant.under(arm)
    if running.model is not None and rewrite_model(running.model, running.rewrite) == running.model:
        yield ("arms", j, "model") if arm.model else _model_path(i, agent, variant), running.model
    rules: KeyPath = ("arms", j, "rewrite") if arm.rewrite is not None else ("agents", i, "rewrite")
    for pattern, target in running.rewrite.items():
        yield (*rules, pattern), target


def _model_path(index: int, agent: Agent, variant: AgentVariant) -> KeyPath:
    if agent.models is not None and variant.model is not None:
        return ("agents", index, "models", agent.models.index(variant.model))
    return ("agents", index, "model")
