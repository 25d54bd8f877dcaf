"""What would settle a comparison that is open: runs, and what they would use."""

from collections.abc import Sequence
from math import isnan, log, nan
from typing import Literal

from tiltyard_report._measures import counted, tokens, usd
from tiltyard_report._passes import Judged
from tiltyard_report._run import Run
from tiltyard_report._runs import total
from tiltyard_report._sample import Quantity, sample
from tiltyard_report.delta_model import Settle
from tiltyard_report.model import Comparison
from tiltyard_stats import Decision, runs_to_settle
from tiltyard_stats.decide import MINIMUM_RUNS, NO_DIFFERENCE, NO_VERDICT

_OPEN = frozenset({NO_DIFFERENCE, NO_VERDICT})
_REASONS = {
    "beyond-margin": "no difference is seen at all, so no number of runs would show one",
    "unknown-bound": "the uncertainty is not known yet",
}
_Name = Literal["tokens", "passes"]
_NEVER = 100_000
"""Runs a side beyond which nobody would go."""


def settle_tokens(
    comparison: Comparison | None, arm: Sequence[Run], baseline: Sequence[Run]
) -> tuple[Settle, ...]:
    """What would settle a relative cost, on the log scale on which its interval is symmetric."""
    ratio = comparison.ratio if comparison else None
    if comparison is None or ratio is None or not _open(comparison.decision):
        return ()
    size = abs(log(ratio.estimate)) if ratio.estimate > 0 else nan
    half = (log(ratio.high) - log(ratio.low)) / 2 if ratio.known and ratio.low > 0 else nan
    least = min(comparison.n_arm, comparison.n_baseline)
    return _settle("tokens", size, half, least, arm, baseline)


def settle_passes(judged: Judged | None, arm: Sequence[Run], baseline: Sequence[Run]) -> tuple[Settle, ...]:
    """What would settle a difference in the pass rate."""
    if judged is None or not _open(judged.decision):
        return ()
    interval = judged.tested.interval
    half = interval.estimate - interval.low if interval.estimate > 0 else interval.high - interval.estimate
    least = min(judged.pair.ours.n, judged.pair.theirs.n)
    return _settle("passes", abs(interval.estimate), half, least, arm, baseline)


def _open(decision: Decision | None) -> bool:
    return decision is not None and decision.verdict in _OPEN and "partial" not in decision.warnings


def _settle(
    name: _Name, size: float, half: float, least: int, arm: Sequence[Run], baseline: Sequence[Run]
) -> tuple[Settle, ...]:
    found = runs_to_settle(0.0 if isnan(size) else size, half, 0.0, least)
    if found.runs is None or found.runs > _NEVER:
        reason = _REASONS.get(found.reason, f"it would take over {_NEVER:,} runs a side")
        return (Settle(name, None, None, nan, nan, reason),)
    runs = max(found.runs, MINIMUM_RUNS)
    sides = (arm, baseline)
    more = [max(0, runs - len(counted(side))) for side in sides]
    return (Settle(name, runs, sum(more), _price(sides, more, tokens), _price(sides, more, usd), ""),)


def _price(sides: Sequence[Sequence[Run]], more: Sequence[int], quantity: Quantity) -> float:
    spent = 0.0
    for side, count in zip(sides, more, strict=True):
        own = sample(side)
        if not own.whole(quantity) or not len(own.counted):
            return nan
        spent += count * total(own.values(quantity)) / len(own.counted)
    return spent
