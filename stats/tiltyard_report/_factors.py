"""In which factors arms differ: those that the spec names, else what of an arm's description differs."""

from collections.abc import Mapping, Sequence

from tiltyard_report._receipt import Facts
from tiltyard_report._run import Cell, Run
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


def factor_rows(cells: Mapping[Cell, Sequence[Run]], facts: Facts) -> tuple[FactorRow, ...]:
    """The pass rate by level of each factor; nothing where no factor has two levels of its own."""
    counted = {cell: valid for cell, runs in cells.items() if (valid := [r for r in runs if r.counted])}
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


def _rate(runs: Sequence[Run]) -> float:
    """Mean of the questions' pass rates."""
    cells: dict[str, list[bool]] = {}
    for run in runs:
        cells.setdefault(run.question, []).append(run.passed)
    return sum(sum(cell) / len(cell) for cell in cells.values()) / len(cells)


def _design(cell: Cell, runs: Sequence[Run], facts: Facts) -> dict[str, str]:
    agent, arm = cell
    design = {"agent": agent.partition("@")[0]}
    models, efforts = {run.model for run in runs}, {run.effort for run in runs}
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
