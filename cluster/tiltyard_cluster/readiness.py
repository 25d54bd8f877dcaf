"""Whether this machine has what a trial needs."""

from collections.abc import Mapping
from pathlib import Path

from tiltyard_cluster.known_secrets import refuse_values
from tiltyard_cluster.launchable import require_launchable
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.supported import require_supported
from tiltyard_gateway.scripted import load_script
from tiltyard_images import connect
from tiltyard_specs import AgentVariant, MissingKeyError, Trial, missing_keys
from tiltyard_specs.errors import UnavailableError, UsageError
from tiltyard_specs.problems import Problem


def require_ready(trial: Trial, environ: Mapping[str, str], *, model_script: Path | None = None) -> None:
    """See that a right spec can run here.

    Args:
        trial: The trial.
        environ: Where keys come from.
        model_script: The script that answers instead of a provider, which makes keys needless.

    Raises:
        DataError: The script is wrong, or the spec holds the value of a key or what no run can start with.
        UnavailableError: A setting cannot be enforced, a key is missing, no engine answers, or it cannot give
            what `limits` ask for.
    """
    refuse_values(trial, environ)
    require_launchable(trial)
    require_supported(trial, environ, scripted=model_script is not None)
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


def require_budget(trial: Trial, options: RunOptions) -> None:
    """See that something bounds what a trial may cost.

    Raises:
        UsageError: Agents call paid models, and neither a budget nor `no_budget` was given; or both were.
    """
    if options.no_budget and trial.spec.budget is not None:
        raise UsageError(
            f"--no-budget contradicts the budget in {trial.path.name}, which would be kept: "
            "leave one of them out"
        )
    if options.script is not None or options.no_budget or trial.spec.budget is not None:
        return
    metered = sorted({agent.name for agent in trial.agents if _pays(trial, agent)})
    if metered:
        raise UsageError(
            f"no budget bounds what {', '.join(metered)} may spend in the whole trial: "
            f"add a budget to {trial.path.name}, such as "
            "budget: {usd: 30}, or say --no-budget"
        )


def _pays(trial: Trial, agent: AgentVariant) -> bool:
    return any(agent.under(arm).metered for arm in trial.spec.arms)


def _without_keys(trial: Trial) -> Problem:
    hint = "--model-script FILE answers model calls from a script and needs no key"
    return Problem(trial.source.file, None, "", "the spec is right, but cannot run here without that", hint)
