"""The receipt of a merged result: what the parts say together, and where they differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tiltyard_specs.canonical import compact_json
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.receipt import Amendment, Registration, TrialReceipt

_TABLES = ("repos", "images", "versions", "prices", "policy")
_SINGLE = ("spec", "engine")


def merge_receipts(receipts: Sequence[TrialReceipt], plan: PlanFile, missing: int) -> TrialReceipt:
    """Join receipts of parts of a plan; the order in which they are given does not matter.

    Where they differ, the least value stands, and all values stand in `drift`.

    Args:
        receipts: At least one.
        plan: The plan.
        missing: How many of its runs have no record.
    """
    drift = _Drift(receipts)
    parts = [receipt.to_data() for receipt in receipts]
    joined: dict[str, Any] = {name: drift.one(name, [part[name] for part in parts]) for name in _SINGLE}
    for name in _TABLES:
        joined[name] = drift.table(name, [part[name] for part in parts])
    return TrialReceipt.model_validate(
        {
            **joined,
            "trial": plan.trial,
            "plan_id": plan.plan_id,
            "seed": plan.seed,
            "order": plan.runs.run_id,
            "runs_expected": len(plan.runs.run_id),
            "runs_by_arm": dict(sorted(Counter(plan.runs.arm).items())),
            "selection": plan.selection.model_dump(),
            "started_at": min(receipt.started_at for receipt in receipts),
            "missing": missing,
            "registration": _registration(receipts, drift),
            "amendments": _amendments(receipts),
            "drift": drift.found(),
        }
    )


def _registration(receipts: Sequence[TrialReceipt], drift: "_Drift") -> Registration | None:
    """The first one. Parts that began with other specs differ in its hash."""
    found = [receipt.registration for receipt in receipts if receipt.registration]
    drift.one("registration.hash", [registration.hash for registration in found])
    return min(
        found,
        key=lambda registration: (registration.at, registration.hash, sorted(registration.parts.items())),
        default=None,
    )


def _amendments(receipts: Sequence[TrialReceipt]) -> list[Amendment]:
    by_text = {
        compact_json(item.model_dump(mode="json")): item for part in receipts for item in part.amendments
    }
    return sorted(by_text.values(), key=lambda item: (item.at, item.hash, item.changed))


class _Drift:
    """Collects what differs. What parts that were merged before say of it is kept."""

    def __init__(self, receipts: Sequence[TrialReceipt]) -> None:
        self._values: dict[str, set[str]] = {}
        for receipt in receipts:
            for name, values in receipt.drift.items():
                self._values.setdefault(name, set()).update(values)

    def one(self, name: str, values: Sequence[Any]) -> Any:
        """The least of some values; if they are not all the same, all of them are remembered."""
        by_text = {compact_json(value): value for value in values if value is not None}
        if len(by_text) > 1:
            self._values.setdefault(name, set()).update(by_text)
        return by_text[min(by_text)] if by_text else None

    def table(self, name: str, tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The union of some tables."""
        keys = sorted({key for table in tables for key in table})
        return {key: self.one(f"{name}.{key}", [table.get(key) for table in tables]) for key in keys}

    def found(self) -> dict[str, tuple[str, ...]]:
        """Each value, by name."""
        return {name: tuple(sorted(values)) for name, values in sorted(self._values.items())}
