"""Whether this machine has what a trial needs."""

from collections.abc import Mapping
from pathlib import Path

from tiltyard_cluster.supported import require_supported
from tiltyard_gateway.scripted import load_script
from tiltyard_images import connect
from tiltyard_specs import MissingKeyError, Trial, missing_keys


def require_ready(trial: Trial, environ: Mapping[str, str], *, model_script: Path | None = None) -> None:
    """See that a right spec can run here.

    Args:
        trial: The trial.
        environ: Where keys come from.
        model_script: The script that answers instead of a provider, which makes keys needless.

    Raises:
        DataError: The script holds something wrong.
        UnavailableError: A setting cannot be enforced, a key is missing, or no engine answers.
    """
    require_supported(trial)
    if model_script is not None:
        load_script(model_script)
    elif problems := missing_keys(trial, environ):
        raise MissingKeyError(problems)
    connect().close()
