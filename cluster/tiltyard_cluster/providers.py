"""Where the gateway sends calls, and with which key: the spec's names, this machine's environment."""

from collections.abc import Mapping

from pydantic import SecretStr

from tiltyard_gateway.config import Upstream, default_upstreams
from tiltyard_specs import AgentVariant, Trial

_NO_KEY = "none"


def trial_upstreams(trial: Trial, environ: Mapping[str, str]) -> dict[str, Upstream]:
    """The providers as the spec's `gateway` section and the environment give them."""
    urls: Mapping[str, str] = {str(name): url for name, url in trial.spec.gateway.upstreams.items()}
    names: Mapping[str, str] = {str(name): key for name, key in trial.spec.gateway.keys_from.items()}
    return {
        provider: _upstream(upstream, urls.get(provider), names.get(provider), environ)
        for provider, upstream in default_upstreams().items()
    }


def run_upstreams(
    agent: AgentVariant, base: Mapping[str, Upstream], environ: Mapping[str, str]
) -> dict[str, Upstream]:
    """What an agent overrides of the trial's providers."""
    names = {*agent.upstreams, *agent.keys_from}
    return {
        name: _upstream(base[name], agent.upstreams.get(name), agent.keys_from.get(name), environ)
        for name in sorted(names)
        if name in base
    }


def _upstream(
    upstream: Upstream, url: str | None, key_name: str | None, environ: Mapping[str, str]
) -> Upstream:
    if key_name is None and url is not None:
        # An address of the user's own without a named key is a local model that wants none.
        return Upstream(base_url=url, key=SecretStr(_NO_KEY))
    name = key_name or upstream.key_name
    key = environ.get(name) if name else None
    return Upstream(base_url=url or upstream.base_url, key=SecretStr(key) if key else None, key_name=name)
