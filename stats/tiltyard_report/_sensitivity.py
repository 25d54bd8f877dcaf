"""The verdicts of all comparisons under each way to treat crashed runs; a flip is said, never hidden."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isnan, nan
from typing import NamedTuple

from tiltyard_report._compare import compare_tokens
from tiltyard_report._passes import Judged, judge, pair
from tiltyard_report._policies import best, crashes, failed, worst
from tiltyard_report._run import Cell, Run
from tiltyard_report._sample import Sample
from tiltyard_report._selection import Selection
from tiltyard_report.delta_model import LossBounds, Policy, PolicyRow
from tiltyard_report.model import Comparison
from tiltyard_stats.decide import NO_VERDICT

Sides = tuple[Sequence[Run], Sequence[Run]]
UNKNOWN = "unknown"


class Sensitivity(NamedTuple):
    """What becomes of one comparison when crashed runs are counted otherwise."""

    rows: tuple[PolicyRow, ...]
    bounds: LossBounds | None


class _Verdicts(NamedTuple):
    """The two verdicts of one comparison, and the difference in passes with its interval."""

    passes: str
    difference: float
    tokens: str
    low: float
    high: float


def sensitivity(
    pairs: Mapping[Cell, Sides],
    compared: Mapping[Cell, Comparison],
    judged: Mapping[Cell, Judged],
    chosen: Selection,
) -> dict[Cell, Sensitivity]:
    """Three rows and bounds for each comparison; without a crash all rows are alike and none is computed."""
    own = {cell: _verdicts(cell, judged, compared) for cell in pairs}
    if chosen.partial or not any(crashes(side) for sides in pairs.values() for side in sides):
        return {
            cell: Sensitivity(tuple(_row(name, own[cell], own[cell]) for name in _POLICIES), None)
            for cell in pairs
        }
    fails, bad, good = (
        {cell: how(runs) for cell, runs in chosen.cells.items()} for how in (failed, worst, best)
    )
    as_failures = _under(pairs, fails, fails, chosen)
    for_arm, for_baseline = _under(pairs, bad, good, chosen), _under(pairs, good, bad, chosen)
    return {
        cell: Sensitivity(
            (
                _row("exclude", own[cell], own[cell]),
                _row("failures", as_failures[cell], own[cell]),
                _row("worst-case", _worse(for_arm[cell], for_baseline[cell], own[cell]), own[cell]),
            ),
            _bounds(sides, for_arm[cell], for_baseline[cell]),
        )
        for cell, sides in pairs.items()
    }


def _bounds(sides: Sides, against: _Verdicts, favoured: _Verdicts) -> LossBounds | None:
    lost = [crashes(side) for side in sides]
    if not any(lost) or isnan(against.difference) or isnan(favoured.difference):
        return None
    return LossBounds(against.difference, favoured.difference, against.low, favoured.high, lost[0], lost[1])


_POLICIES: tuple[Policy, ...] = ("exclude", "failures", "worst-case")


def _under(
    pairs: Iterable[Cell], arms: Mapping[Cell, Sample], baselines: Mapping[Cell, Sample], chosen: Selection
) -> dict[Cell, _Verdicts]:
    baseline = chosen.baseline or ""
    cells = {cell: arms[cell] for cell in pairs}
    beside = {cell: baselines[cell[0], baseline] for cell in cells}
    judged = judge(
        {cell: pair(runs, beside[cell]) for cell, runs in cells.items()},
        chosen.options,
        chosen.clusters,
        partial=False,
    )
    every = cells | {(cell[0], baseline): runs for cell, runs in beside.items()}
    compared = compare_tokens(every, baseline, options=chosen.options, partial=False)
    return {cell: _verdicts(cell, judged, compared) for cell in cells}


def _verdicts(cell: Cell, judged: Mapping[Cell, Judged], compared: Mapping[Cell, Comparison]) -> _Verdicts:
    test, comparison = judged.get(cell), compared.get(cell)
    decision = comparison.decision if comparison else None
    unknown = decision is not None and "unknown-tokens" in decision.warnings
    interval = test.tested.interval if test else None
    return _Verdicts(
        passes=test.decision.verdict if test else NO_VERDICT,
        difference=interval.estimate if interval else nan,
        tokens=UNKNOWN if unknown else decision.verdict if decision else NO_VERDICT,
        low=interval.low if interval else nan,
        high=interval.high if interval else nan,
    )


def _row(policy: Policy, found: _Verdicts, own: _Verdicts) -> PolicyRow:
    flips = (own.passes not in {found.passes, NO_VERDICT}) or (
        own.tokens not in {found.tokens, NO_VERDICT, UNKNOWN} and found.tokens != UNKNOWN
    )
    return PolicyRow(policy, found.passes, found.difference, found.tokens, flips)


def _worse(first: _Verdicts, second: _Verdicts, own: _Verdicts) -> _Verdicts:
    """Of two worst cases what flips; else the one that is nearest to no difference."""

    def rank(item: _Verdicts) -> tuple[bool, float]:
        return item.passes == own.passes, abs(item.difference) if item.difference == item.difference else inf

    passes = min((first, second), key=rank)
    changed = [item.tokens for item in (first, second) if item.tokens != own.tokens]
    return passes._replace(tokens=changed[0] if changed else own.tokens)
