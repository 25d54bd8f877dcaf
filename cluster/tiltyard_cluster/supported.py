"""Refuses what this version cannot enforce: a policy that is silently ignored is worse than none."""

from collections.abc import Iterator

from tiltyard_specs import Trial
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
    for arm in trial.spec.arms:
        for agent in trial.agents:
            if agent.under(arm).auth == "passthrough":
                yield f"auth: passthrough (agent {agent.name}, arm {arm.name})"
