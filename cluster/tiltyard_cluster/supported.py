"""Refuses what cannot be enforced here: a policy that is silently ignored is worse than none."""

from collections.abc import Mapping

from tiltyard_cluster.logins import find_logins
from tiltyard_specs import Trial
from tiltyard_specs.errors import UnavailableError


def require_supported(trial: Trial, environ: Mapping[str, str], *, scripted: bool) -> None:
    """See that agents with a login of their own have one, and can be metered with it.

    Args:
        trial: The trial.
        environ: Where logins come from.
        scripted: A model script answers: no login is needed, and none is used.

    Raises:
        UnavailableError: Says which agent lacks what.
    """
    if scripted:
        return
    try:
        own = [(agent.name, arm) for agent, arm, _ in find_logins(trial, environ)]
    except UnavailableError as error:
        raise UnavailableError(f"{trial.path.name}: auth: passthrough cannot be used: {error}") from None
    if own and trial.spec.network == "open":
        agent, arm = own[0]
        raise UnavailableError(
            f"{trial.path.name}: {agent} in arm {arm} has a login of its own, with which it could call its "
            "provider beside the meter while network is open: seal the network, or use auth: placebo"
        )
