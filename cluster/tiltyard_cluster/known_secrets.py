"""The keys that this machine's environment holds for a trial: what must stand in no result and no log."""

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from tiltyard_cluster.layout import TRIAL
from tiltyard_cluster.logins import login_secrets
from tiltyard_cluster.store import Store
from tiltyard_runner.masking import Masking
from tiltyard_runner.redaction import mask_strings
from tiltyard_specs import Trial
from tiltyard_specs.keys import DEFAULT_KEYS
from tiltyard_specs.receipt import parse_receipt

_FREE_TEXT = frozenset(
    {"prompt", "prompt_prefix", "prompt_suffix", "env", "args", "command", "setup", "prepare", "verify"}
    | {"expect", "forbid", "mcp"}
)
"""Parts of a spec that hold what users like; a name that equals a key stays, or nothing would be found."""


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


def mask_receipt(store: Store, secrets: Iterable[str]) -> None:
    """Mask in trial.json what the spec's free text quotes of keys. Keys by their shape are refused before."""
    text = store.get(TRIAL)
    if text is None:
        return
    receipt = parse_receipt(text, TRIAL)
    spec, count = _masked(receipt.spec, Masking(secrets))
    if count:
        store.put(TRIAL, receipt.model_copy(update={"spec": spec}).to_json().encode())


def _masked(value: JsonValue, masking: Masking) -> tuple[JsonValue, int]:
    if isinstance(value, list):
        items = [_masked(item, masking) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if not isinstance(value, dict):
        return value, 0
    members = {
        name: mask_strings(item, masking.text) if name in _FREE_TEXT else _masked(item, masking)
        for name, item in value.items()
    }
    return {name: item for name, (item, _) in members.items()}, sum(n for _, n in members.values())
