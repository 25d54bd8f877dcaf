"""Whether this machine has what a trial needs."""

from collections.abc import Mapping
from pathlib import Path

from tiltyard_cluster.supported import require_supported
from tiltyard_gateway.scripted import load_script
from tiltyard_images import connect
from tiltyard_specs import MissingKeyError, Trial, missing_keys
from tiltyard_specs.errors import UnavailableError
from tiltyard_specs.problems import Problem


def require_ready(trial: Trial, environ: Mapping[str, str], *, model_script: Path | None = None) -> None:
    """See that a right spec can run here.

    Args:
        trial: The trial.
        environ: Where keys come from.
        model_script: The script that answers instead of a provider, which makes keys needless.

    Raises:
        DataError: The script holds something wrong.
        UnavailableError: A setting cannot be enforced, a key is missing, no engine answers, or it cannot give
            what `limits` ask for.
    """
    require_supported(trial)
    if model_script is not None:
        load_script(model_script)
    elif problems := missing_keys(trial, environ):
        raise MissingKeyError([*problems, _without_keys(trial)])
    client = connect()
    try:
        info = client.info()
    finally:
        client.close()
    # More memory than there is may be asked for; more processors the engine refuses, for every container.
    if (cpus := trial.spec.limits.cpus) > info["NCPU"]:
        raise UnavailableError(
            f"{trial.path.name}: limits.cpus is {cpus:g}, but this machine has {info['NCPU']}; lower it"
        )


def _without_keys(trial: Trial) -> Problem:
    hint = "--model-script FILE answers model calls from a script and needs no key"
    return Problem(trial.source.file, None, "", "the spec is right, but cannot run here without that", hint)
