"""Facts that should be the same in all arms and are not: images and versions."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from tiltyard_report._sample import Sample

# What an image layer is allowed to depend on; within such a group it must not change.
_GROUPS: dict[str, tuple[str, ...]] = {
    "base": (),
    "agent": ("agent",),
    "workspace": ("agent", "question"),
    "arm": ("agent", "question", "arm"),
}
_Facts = Mapping[str, object]


def drift(runs: Sample) -> tuple[str, ...]:
    """One sentence per image layer or version that changed within the trial."""
    layers = sorted(set(chain.from_iterable(runs.distinct("images"))))
    versions = sorted(set(chain.from_iterable(runs.distinct("versions"))))
    found = [_image(runs, layer) for layer in layers] + [_version(runs, key) for key in versions]
    return tuple(sentence for sentence in found if sentence)


def _changed(
    runs: Sample, kind: str, group: Sequence[str], name_of: Callable[[_Facts], str | None]
) -> list[dict[str, set[str]]]:
    """The groups within which a fact is not the same, with what each arm has."""
    names = [name_of(facts) for facts in runs.distinct(kind)]
    if len({name for name in names if name is not None}) < 2:  # noqa: PLR2004 - a change needs two
        return []
    values: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for (arm, facts, *key), _ in runs.counts("arm", kind, *group):
        if (name := name_of(facts)) is not None:
            values.setdefault(tuple(key), {}).setdefault(arm, set()).add(name)
    return [by_arm for by_arm in values.values() if len(set().union(*by_arm.values())) > 1]


def _image(runs: Sample, layer: str) -> str | None:
    def name_of(images: _Facts) -> str | None:
        return None if images.get(layer) is None else _image_id(images[layer])

    changed = _changed(runs, "images", _GROUPS.get(layer, _GROUPS["arm"]), name_of)
    return f"The {layer} image is not the same in all runs ({_where(changed)})." if changed else None


def _image_id(fact: object) -> str:
    return str(fact.get("id") if isinstance(fact, Mapping) else fact)


def _version(runs: Sample, key: str) -> str | None:
    def name_of(versions: _Facts) -> str | None:
        return None if versions.get(key) is None else str(versions[key])

    changed = _changed(runs, "versions", ("agent",), name_of)
    if not changed:
        return None
    names = ", ".join(sorted(set().union(*chain.from_iterable(by_arm.values() for by_arm in changed))))
    from tiltyard_specs.prices import PRICES  # noqa: PLC0415 - loads the whole spec, which few reports need

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
