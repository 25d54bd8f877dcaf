"""Facts that should be the same in all arms and are not: images and versions."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from tiltyard_report._run import Run
from tiltyard_specs.prices import PRICES

# What an image layer is allowed to depend on; within such a group it must not change.
_GROUPS: dict[str, Callable[[Run], tuple[str, ...]]] = {
    "base": lambda _: (),
    "agent": lambda run: (run.agent,),
    "workspace": lambda run: (run.agent, run.question),
    "arm": lambda run: (run.agent, run.question, run.arm),
}


def drift(runs: Sequence[Run]) -> tuple[str, ...]:
    """One sentence per image layer or version that changed within the trial."""
    # What is the same object is the same: of a table, few are left to look at.
    kinds = {(run.agent, run.question, run.arm, id(run.images), id(run.versions)): run for run in runs}
    runs = list(kinds.values())
    layers = sorted(set(chain.from_iterable(run.images for run in runs)))
    versions = sorted(set(chain.from_iterable(run.versions for run in runs)))
    found = [_image(runs, layer) for layer in layers] + [_version(runs, key) for key in versions]
    return tuple(sentence for sentence in found if sentence)


def _image(runs: Sequence[Run], layer: str) -> str | None:
    group = _GROUPS.get(layer, _GROUPS["arm"])
    values: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for run in runs:
        if run.images.get(layer) is not None:
            by_arm = values.setdefault(group(run), {})
            by_arm.setdefault(run.arm, set()).add(_image_id(run.images[layer]))
    changed = [by_arm for by_arm in values.values() if len(set().union(*by_arm.values())) > 1]
    if not changed:
        return None
    return f"The {layer} image is not the same in all runs ({_where(changed)})."


def _image_id(fact: object) -> str:
    return str(fact.get("id") if isinstance(fact, Mapping) else fact)


def _version(runs: Sequence[Run], key: str) -> str | None:
    values: dict[str, dict[str, set[str]]] = {}
    for run in runs:
        if run.versions.get(key) is not None:
            values.setdefault(run.agent, {}).setdefault(run.arm, set()).add(str(run.versions[key]))
    changed = [by_arm for by_arm in values.values() if len(set().union(*by_arm.values())) > 1]
    if not changed:
        return None
    names = ", ".join(sorted(set().union(*chain.from_iterable(by_arm.values() for by_arm in changed))))
    if key == PRICES:
        where = _where(changed)
        return f"The price table is not the same in all runs ({where}): {names}. USD differ with it."
    return f"The version '{key}' is not the same in all runs ({_where(changed)}): {names}."


def _where(changed: Sequence[dict[str, set[str]]]) -> str:
    between = any(len(set(map(frozenset, by_arm.values()))) > 1 for by_arm in changed)
    return (
        "it differs between arms, so a difference may be its doing"
        if between
        else "each arm has the same mix"
    )
