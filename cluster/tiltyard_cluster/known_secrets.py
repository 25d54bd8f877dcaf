"""The keys that this machine's environment holds for a trial: what must stand in no result and no log."""

from collections.abc import Mapping

from tiltyard_specs import Trial
from tiltyard_specs.keys import DEFAULT_KEYS


def known_secrets(trial: Trial, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the variables that the spec names, and of the providers' usual ones.

    Agents and arms that do not run this time count as well: a key is one whoever uses it.
    """
    whole = trial.whole
    named = [whole.gateway.keys_from, *(agent.keys_from for agent in whole.agents)]
    named += [arm.keys_from or {} for arm in whole.arms]
    names = {*DEFAULT_KEYS.values(), *(name for keys in named for name in keys.values())}
    values = {value for name in names if (value := environ.get(name, "").strip())}
    return tuple(sorted(values))
