"""In which factors arms differ: those that the spec names, else what of an arm's description differs."""

from collections.abc import Mapping

import numpy as np

from tiltyard_report._receipt import Facts
from tiltyard_report._run import Cell
from tiltyard_report._runs import total
from tiltyard_report._sample import Sample
from tiltyard_report.delta_model import FactorChange
from tiltyard_report.group_model import FactorRow
from tiltyard_specs.canonical import compact_json
from tiltyard_stats import changed_factors, factor_levels

_NOT_FACTORS = frozenset({"name", "factors"})
_LONGEST = 60
Changes = tuple[tuple[FactorChange, ...], tuple[str, ...]]


def factor_changes(facts: Facts, baseline: str, arm: str) -> Changes:
    """What differs between two arms; nothing where the spec is not known."""
    specs = facts.arm_specs.get(baseline), facts.arm_specs.get(arm)
    if specs[0] is None or specs[1] is None:
        return (), ()
    declared = _declared(specs[0]), _declared(specs[1])
    sides = declared if any(declared) else (_described(specs[0]), _described(specs[1]))
    found = changed_factors(*sides)
    changes = (FactorChange(name, before, after) for name, (before, after) in found.changed.items())
    return tuple(changes), found.warnings


def factor_rows(cells: Mapping[Cell, Sample], facts: Facts) -> tuple[FactorRow, ...]:
    """The pass rate by level of each factor; nothing where no factor has two levels of its own."""
    counted = {cell: own for cell, runs in cells.items() if len(own := runs.counted)}
    designs = [_design(cell, runs, facts) for cell, runs in counted.items()]
    names = set.intersection(*(set(design) for design in designs)) if designs else set()
    design = [{name: each[name] for name in sorted(names)} for each in designs]
    varying = {name for name in names if len({each[name] for each in design}) > 1}
    declared = any(_declared(spec) for spec in facts.arm_specs.values())
    variants = {agent for agent, _ in counted}
    if not varying - {"agent"} or not (
        declared or len({each.partition("@")[0] for each in variants}) < len(variants)
    ):
        return ()
    rates = [_rate(runs) for runs in counted.values()]
    found = factor_levels(design, rates)
    return tuple(
        FactorRow(row.factor, row.level, row.mean, row.adjusted, row.variants, found.label)
        for row in found.levels
    )


def _rate(runs: Sample) -> float:
    """Mean of the questions' pass rates."""
    numbers, first = runs.first("question")
    rates = np.bincount(numbers, runs.column("passed")) / np.bincount(numbers)
    return total(rates) / len(first)


def _design(cell: Cell, runs: Sample, facts: Facts) -> dict[str, str]:
    agent, arm = cell
    design = {"agent": agent.partition("@")[0]}
    models, efforts = runs.distinct("model"), runs.distinct("effort")
    for name, values in (("model", models), ("effort", efforts)):
        if len(values) == 1 and (value := next(iter(values))):
            design[name] = value
    return design | _declared(facts.arm_specs.get(arm) or {})


def _declared(spec: Mapping[str, object]) -> dict[str, str]:
    factors = spec.get("factors")
    if not isinstance(factors, Mapping):
        return {}
    return {str(name): _text(value) for name, value in factors.items()}


def _described(spec: Mapping[str, object]) -> dict[str, str]:
    return {
        name: _text(value) for name, value in spec.items() if name not in _NOT_FACTORS and value not in _EMPTY
    }


_EMPTY: tuple[object, ...] = (None, "", [], {}, (), False)


def _text(value: object) -> str:
    text = value if isinstance(value, str) else compact_json(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
