"""Where the gateway sends calls, and with which key: the spec's names, this machine's environment."""

from collections.abc import Iterable, Mapping

from pydantic import SecretStr
from tiltyard_gateway.client import Upstream, default_upstreams
from tiltyard_runner.agents import adapter_for
from tiltyard_specs import AgentVariant, Trial
from tiltyard_specs.errors import UnavailableError


def trial_upstreams(trial: Trial, environ: Mapping[str, str]) -> dict[str, Upstream]:
    """The providers as the spec's `gateway` section and the environment give them."""
    gateway = trial.spec.gateway
    return {
        provider: _upstream(upstream, gateway.upstreams.get(provider), gateway.keys_from.get(provider), environ)
        for provider, upstream in default_upstreams().items()
    }


def run_upstreams(agent: AgentVariant, base: Mapping[str, Upstream], environ: Mapping[str, str]) -> dict[str, Upstream]:
    """What an agent overrides of the trial's providers."""
    names = {*agent.upstreams, *agent.keys_from}
    return {
        name: _upstream(base[name], agent.upstreams.get(name), agent.keys_from.get(name), environ)
        for name in sorted(names)
        if name in base
    }


def require_keys(agents: Iterable[AgentVariant], base: Mapping[str, Upstream], environ: Mapping[str, str]) -> None:
    """See that every provider that an agent calls has a key.

    Raises:
        UnavailableError: Names each variable that is missing.
    """
    missing: dict[str, list[str]] = {}
    for agent in agents:
        provider = adapter_for(agent.kind).provider
        if provider is None:
            continue
        upstream = run_upstreams(agent, base, environ).get(provider, base[provider])
        if upstream.key is None:
            missing.setdefault(upstream.key_name or provider, []).append(agent.name)
    if missing:
        needs = "; ".join(f"{name} (for {', '.join(sorted(set(agents)))})" for name, agents in sorted(missing.items()))
        raise UnavailableError(
            f"missing environment variables: {needs}; set them, or try the trial without a provider by --model-script FILE"
        )


def _upstream(upstream: Upstream, url: str | None, key_name: str | None, environ: Mapping[str, str]) -> Upstream:
    name = key_name or upstream.key_name
    key = environ.get(name) if name else None
    return Upstream(
        base_url=url or upstream.base_url, key=SecretStr(key) if key else upstream.key, key_name=name
    )
