"""Whether this machine has what a trial needs."""

from collections.abc import Mapping

from tiltyard_cluster.supported import require_supported
from tiltyard_images import connect
from tiltyard_specs import MissingKeyError, Trial, missing_keys


def require_ready(trial: Trial, environ: Mapping[str, str], *, scripted: bool) -> None:
    """See that a right spec can run here.

    Raises:
        UnavailableError: A setting cannot be enforced, a key is missing, or no engine answers.
    """
    require_supported(trial)
    if not scripted and (problems := missing_keys(trial, environ)):
        raise MissingKeyError(problems)
    connect().close()
