"""What a report takes from the receipt (trial.json). All of it is optional: records alone make a report."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiltyard_specs.errors import DataError


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a trial that its records do not hold."""

    name: str | None = None
    expected_runs: int | None = None
    baseline: str | None = None
    arms: tuple[str, ...] = ()
    """In the order of the spec."""
    agents: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    network: str | None = None
    """`sealed`, `open`, or `allow: host, ...`."""
    scripted: bool = False
    """Whether the model's replies were scripted."""


def read_receipt(receipt: Mapping[str, object] | None) -> Facts:
    """Read the receipt's facts.

    Looked for: `spec` (the resolved spec: name, network, arms, agents, questions, defaults.baseline), the
    number of planned runs (`expected_runs`, else the length of `order`, else of `plan.runs`),
    `policy.network` (wins over the spec's) and `scripted`.

    Raises:
        DataError: A part that is there has a wrong type.
    """
    if receipt is None:
        return Facts()
    spec = _part(receipt, "spec")
    network = _part(receipt, "policy").get("network", spec.get("network"))
    return Facts(
        name=_text(spec, "name") or _text(receipt, "name") or _text(receipt, "trial"),
        expected_runs=_expected(receipt),
        baseline=_text(_part(spec, "defaults"), "baseline") or _text(receipt, "baseline"),
        arms=_names(spec, "arms", "name"),
        agents=_names(spec, "agents", "name"),
        questions=_names(spec, "questions", "id"),
        network=_network(network),
        scripted=bool(receipt.get("scripted")),
    )


def _expected(receipt: Mapping[str, object]) -> int | None:
    expected = receipt.get("expected_runs")
    if isinstance(expected, int) and not isinstance(expected, bool) and expected >= 0:
        return expected
    if expected is not None:
        raise DataError(f"Receipt: expected_runs is {expected!r}, it must be a whole number of at least 0.")
    for planned in (receipt.get("order"), _part(receipt, "plan").get("runs")):
        if isinstance(planned, list | tuple):
            return len(planned)
    return None


def _network(value: object) -> str | None:
    if isinstance(value, Mapping):
        hosts = value.get("allow")
        return "allow: " + ", ".join(map(str, hosts)) if isinstance(hosts, list | tuple) else None
    return value if isinstance(value, str) else None


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
