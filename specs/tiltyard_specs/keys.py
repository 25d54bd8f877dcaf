"""Which environment variables hold the providers' keys that a trial needs, and which of them are not set."""

from collections.abc import Mapping

from tiltyard_specs.kinds import PROVIDER_OF_KIND
from tiltyard_specs.load import Trial
from tiltyard_specs.problems import KeyPath, Problem
from tiltyard_specs.spec_base import Provider
from tiltyard_specs.trial import TrialSpec
from tiltyard_specs.usual_keys import DEFAULT_KEYS
from tiltyard_specs.variants import AgentVariant

__all__ = ["DEFAULT_KEYS", "key_names", "missing_keys", "named_variables"]


def named_variables(data: object) -> set[str]:
    """The variables that a spec names for keys, sound or not: errors in it may quote what they hold."""
    found: set[str] = set()
    if isinstance(data, list):
        return found.union(*map(named_variables, data))
    if isinstance(data, dict):
        for key, value in data.items():
            if key == "keys_from" and isinstance(value, dict):
                found |= {name for name in value.values() if isinstance(name, str)}
            else:
                found |= named_variables(value)
    return found


def key_names(spec: TrialSpec, agent: AgentVariant) -> dict[Provider, str]:
    """The environment variable by provider, for an agent as it runs in an arm; empty when it needs no key."""
    calls = agent.metered or bool(agent.model or agent.keys_from)
    if not calls or agent.auth == "passthrough":
        return {}
    upstreams: dict[Provider, str] = {**spec.gateway.upstreams, **agent.upstreams}
    named: dict[Provider, str] = {**spec.gateway.keys_from, **agent.keys_from}
    provider = PROVIDER_OF_KIND.get(agent.kind)
    # A command of the user's own may call any provider that the spec names.
    needed = {each: name for each, name in named.items() if each == provider or agent.command is not None}
    if provider is not None and provider not in {*needed, *upstreams}:
        needed[provider] = DEFAULT_KEYS[provider]
    return needed


def missing_keys(trial: Trial, environ: Mapping[str, str]) -> tuple[Problem, ...]:
    """One problem per environment variable that the selected runs need and that is not set.

    The spec is right: raise MissingKeyError (exit code 69), unless the model server is a scripted one.
    """
    problems: dict[str, Problem] = {}
    for agent in trial.agents:
        for index, arm in enumerate(trial.whole.arms):
            if arm in trial.spec.arms:
                for provider, name in key_names(trial.spec, agent.under(arm)).items():
                    if not environ.get(name):
                        problems.setdefault(name, _problem(trial, agent, index, provider, name))
    return tuple(problems.values())


def _problem(trial: Trial, agent: AgentVariant, arm_index: int, provider: Provider, name: str) -> Problem:
    return trial.source.problem(
        _place(trial, agent, arm_index, provider),
        f'the environment variable {name}, with the {provider} key of "{agent.name}", is not set',
        f"export {name}, or name another one in gateway.keys_from",
    )


def _place(trial: Trial, agent: AgentVariant, arm_index: int, provider: Provider) -> KeyPath:
    """Where the spec names the variable, or the agent that needs it."""
    arm = trial.whole.arms[arm_index]
    agent_index = next(i for i, each in enumerate(trial.whole.agents) if each.name == agent.base)
    if provider in (arm.keys_from or {}):
        return ("arms", arm_index, "keys_from", provider)
    if provider in agent.keys_from:
        return ("agents", agent_index, "keys_from", provider)
    if provider in trial.spec.gateway.keys_from:
        return ("gateway", "keys_from", provider)
    return ("agents", agent_index)
