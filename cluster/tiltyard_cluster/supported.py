"""Refuses what this version cannot enforce: a policy that is silently ignored is worse than none."""

from collections.abc import Iterator

from tiltyard_specs import AllowHosts, Trial
from tiltyard_specs.errors import UnavailableError


def require_supported(trial: Trial) -> None:
    """See that everything the spec asks for can be done here.

    Raises:
        UnavailableError: Names each setting that this version does not enforce yet.
    """
    problems = list(_unsupported(trial))
    if problems:
        raise UnavailableError(
            f"{trial.path.name}: this version of Tiltyard does not enforce {'; '.join(problems)}; "
            "remove the setting to run without it"
        )


def _unsupported(trial: Trial) -> Iterator[str]:
    spec = trial.spec
    if isinstance(spec.network, AllowHosts):
        yield "network.allow (single hosts beside the model)"
    if spec.gateway.prompt_cache == "off":
        yield "gateway.prompt_cache: off"
    if spec.gateway.nonce:
        yield "gateway.nonce"
    for name in ("usd", "tokens"):
        if getattr(spec.limits, name) is not None:
            yield f"limits.{name} (the spend of one run)"
    for arm in spec.arms:
        for agent in trial.agents:
            effective = agent.under(arm)
            if effective.auth == "passthrough":
                yield f"auth: passthrough (agent {agent.name}, arm {arm.name})"
            if effective.rewrite:
                yield f"rewrite (agent {agent.name}, arm {arm.name})"
