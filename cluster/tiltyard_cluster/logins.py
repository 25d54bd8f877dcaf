"""Which agents of a trial bring their own login (`auth: passthrough`), and where it may be sent."""

import time
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from tiltyard_runner.agents import Login, find_login
from tiltyard_specs import AgentVariant, Trial
from tiltyard_specs.errors import UnavailableError
from tiltyard_specs.kinds import PROVIDER_OF_KIND

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def find_logins(trial: Trial, environ: Mapping[str, str]) -> Iterator[tuple[AgentVariant, str, Login]]:
    """Each agent as it runs in each arm with a login of its own: the agent, the arm's name, the login.

    Raises:
        UnavailableError: One of them has none that can be used.
    """
    for arm in trial.spec.arms:
        for agent in trial.agents:
            variant = agent.under(arm)
            if variant.auth == "passthrough":
                yield variant, arm.name, login_of(trial, variant, environ)


def login_of(trial: Trial, agent: AgentVariant, environ: Mapping[str, str]) -> Login:
    """The login of an agent as it runs in an arm.

    Raises:
        UnavailableError: There is none that can be used.
    """
    named: Mapping[str, str] = {str(provider): name for provider, name in agent.keys_from.items()}
    login = find_login(agent.kind, named, environ, now=time.time())
    if not agent.keys_from:
        _keep_at_home(trial, agent)
    return login


def login_secrets(trial: Trial, environ: Mapping[str, str]) -> set[str]:
    """What must stand in no result. A login that is not there has no secret."""
    secrets: set[str] = set()
    try:
        for _, _, login in find_logins(trial, environ):
            secrets.update(login.env.values())
    except UnavailableError:
        pass
    return secrets


def _keep_at_home(trial: Trial, agent: AgentVariant) -> None:
    """A spec may come from anybody: it must not send what it never named to an address of its own."""
    provider = PROVIDER_OF_KIND.get(agent.kind)
    address = {**trial.spec.gateway.upstreams, **agent.upstreams}.get(provider) if provider else None
    if address is not None and urlsplit(address).hostname not in _LOOPBACK:
        raise UnavailableError(
            f"the login of {agent.kind} on this machine would go to {address}, which is not its provider: "
            "name the variable that holds the login for that address in keys_from of the agent"
        )
