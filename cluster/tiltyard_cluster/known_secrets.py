"""The keys that this machine's environment holds for a trial: what must stand in no result and no log."""

import json
from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from tiltyard_cluster.logins import login_secrets
from tiltyard_runner.masking import Masking
from tiltyard_runner.redaction import mask_strings
from tiltyard_specs import Trial
from tiltyard_specs.keys import DEFAULT_KEYS
from tiltyard_specs.problems import KeyPath, SpecError
from tiltyard_specs.receipt import TrialReceipt
from tiltyard_specs.redact import SHORTEST_SECRET

_FREE_TEXT = frozenset(
    {"prompt", "prompt_prefix", "prompt_suffix", "env", "args", "command", "setup", "prepare", "verify"}
    | {"expect", "forbid", "uses", "instructions", "content", "description"}
)
"""Parts of a spec that hold what people like, and are masked. Everything else names something."""

_MESSAGE = "holds the value of a key from the environment, and names are found in every result"
_HINT = "name the variable in keys_from; the value never stands in a spec"


def known_secrets(trial: Trial, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the variables that the spec names, and of the providers' usual ones.

    Agents and arms that do not run this time count as well: a key is one whoever uses it.
    """
    whole = trial.whole
    named = [whole.gateway.keys_from, *(agent.keys_from for agent in whole.agents)]
    named += [arm.keys_from or {} for arm in whole.arms]
    names = {*DEFAULT_KEYS.values(), *(name for keys in named for name in keys.values())}
    values = {value for name in names if (value := environ.get(name, "").strip())}
    return tuple(sorted(values | login_secrets(trial, environ)))


def masked(receipt: TrialReceipt, secrets: Iterable[str]) -> TrialReceipt:
    """The receipt without what the spec quotes of keys. Keys by their shape are refused before."""
    masking, data = Masking(secrets), receipt.to_data()
    for part in ("spec", "repos"):
        data[part], _ = mask_strings(data[part], masking.text)
    return TrialReceipt.model_validate_json(json.dumps(data))


def refuse_values(trial: Trial, environ: Mapping[str, str]) -> None:
    """See that the value of no key stands where a spec names something: names are found in every result.

    Raises:
        SpecError: One does. The value is not repeated.
    """
    secrets = [value for value in known_secrets(trial, environ) if len(value) >= SHORTEST_SECRET]
    data = trial.whole.model_dump(mode="json", exclude_defaults=True)
    paths = {path: None for path, text in _names(data, ()) if any(secret in text for secret in secrets)}
    if paths:
        raise SpecError(trial.source.problem(path, _MESSAGE, _HINT) for path in paths)


def _names(value: JsonValue, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _names(item, (*path, index))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield path, name
            if name not in _FREE_TEXT:
                yield from _names(item, (*path, name))
