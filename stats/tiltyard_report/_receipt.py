"""What a report takes from the receipt (trial.json). All of it is optional: records alone make a report."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict

from tiltyard_specs.errors import DataError

ALLOW = "allow: "


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a trial that its records do not hold."""

    name: str | None = None
    expected_runs: int | None = None
    shard: str | None = None
    """Which part of a plan was run, such as 2 of 5; None for all of it."""
    baseline: str | None = None
    arms: tuple[str, ...] = ()
    """In the order of the spec."""
    agents: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    network: str | None = None
    """`sealed`, `open`, or `allow: host, ...`."""
    scripted: bool = False
    """Whether the model's replies were scripted."""
    registered: str | None = None
    """The pre-registration hash of the first start."""
    amended: tuple[str, ...] = ()
    """Parts of the spec that are not as they were then."""
    restored: bool = False
    """Whether something was changed in between and changed back."""
    reps: int | None = None
    """Planned repetitions of each cell."""
    arm_specs: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Each arm as the spec gives it."""
    repos: Mapping[str, str] = field(default_factory=dict)
    """The repo of each question."""
    missing: int = 0
    """Runs that a merged result lacks."""


class Amended(TypedDict):
    """What the receipt says of the spec at the first start and now."""

    registered: str | None
    amended: tuple[str, ...]
    restored: bool


def read_receipt(receipt: Mapping[str, object] | None) -> Facts:
    """Read the receipt's facts.

    Looked for: `trial`, the resolved `spec`, `runs_expected` (else the length of `order`), `shard`,
    `policy.network` (else the spec's), `policy.models`, `versions`, `registration` and `amendments`.

    Raises:
        DataError: A part that is there has a wrong type.
    """
    if receipt is None:
        return Facts()
    spec = _part(receipt, "spec")
    policy = _part(receipt, "policy")
    network = policy.get("network", spec.get("network"))
    return Facts(
        name=_text(receipt, "trial") or _text(spec, "name"),
        expected_runs=_expected(receipt),
        shard=_shard(receipt),
        baseline=_text(_part(spec, "defaults"), "baseline"),
        arms=_names(spec, "arms", "name"),
        agents=_names(spec, "agents", "name"),
        questions=_names(spec, "questions", "id"),
        network=network_text(network),
        **_registration(receipt),
        reps=_whole(_part(receipt, "selection"), "reps") or _whole(_part(spec, "defaults"), "reps"),
        arm_specs={str(item["name"]): item for item in _items(spec, "arms") if "name" in item},
        repos={
            str(item["id"]): str(item["repo"])
            for item in _items(spec, "questions")
            if "id" in item and item.get("repo")
        },
        missing=_whole(receipt, "missing") or 0,
        scripted=policy.get("models") == "scripted" or scripted(_part(receipt, "versions")),
    )


def combine(facts: Facts, networks: Collection[str], versions: Collection[str]) -> Facts:
    """Add what the records say: the least sealed network counts, and any scripted run."""
    known = {network for network in (facts.network, *networks) if network}
    widest = (
        "open"
        if "open" in known
        else max(known, key=lambda name: (name.startswith(ALLOW), name), default=None)
    )
    return replace(facts, network=widest, scripted=facts.scripted or scripted(versions))


def scripted(versions: Iterable[str]) -> bool:
    """Whether the versions in force name a scripted model, such as `model-script`."""
    return any("script" in name for name in versions)


def network_text(value: object) -> str | None:
    """A network policy in one line."""
    if isinstance(value, Mapping):
        hosts = value.get("allow")
        return ALLOW + ", ".join(map(str, hosts)) if isinstance(hosts, list | tuple) else None
    return value if isinstance(value, str) else None


def _registration(receipt: Mapping[str, object]) -> Amended:
    first, later = _part(receipt, "registration"), receipt.get("amendments") or ()
    if not isinstance(later, list | tuple) or not all(isinstance(item, Mapping) for item in later):
        raise DataError(f"Receipt: amendments is {str(later)[:80]!r}, it must be a list of objects.")
    changed = later[-1].get("changed") if later else ()
    parts = tuple(map(str, changed)) if isinstance(changed, list | tuple) else ()
    return {"registered": _text(first, "hash"), "amended": parts, "restored": bool(later) and not parts}


def _shard(receipt: Mapping[str, object]) -> str | None:
    shard = _part(receipt, "shard")
    return f"{shard.get('index')} of {shard.get('of')}" if shard else None


def _expected(receipt: Mapping[str, object]) -> int | None:
    expected = receipt.get("runs_expected")
    if expected is not None and (isinstance(expected, bool) or not isinstance(expected, int) or expected < 0):
        raise DataError(f"Receipt: runs_expected is {expected!r}, it must be a whole number of at least 0.")
    order = receipt.get("order")
    return expected or (len(order) if isinstance(order, list | tuple) else 0) or None


def _whole(source: Mapping[str, object], key: str) -> int | None:
    value = source.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _items(spec: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    items = spec.get(key)
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list | tuple) else []


def _names(spec: Mapping[str, object], key: str, name: str) -> tuple[str, ...]:
    items = spec.get(key) or ()
    if not isinstance(items, list | tuple):
        raise DataError(f"Receipt: spec.{key} is {type(items).__name__}, it must be a list.")
    return tuple(str(item[name]) for item in items if isinstance(item, Mapping) and name in item)


def _part(source: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = source.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DataError(f"Receipt: {key} is {str(value)[:80]!r}, it must be an object.")
    return value


def _text(source: Mapping[str, object], key: str) -> str | None:
    value = source.get(key)
    return value if isinstance(value, str) and value else None
