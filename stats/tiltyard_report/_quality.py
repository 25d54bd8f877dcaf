"""How well, how steadily and at what cost each arm passes, through the statistics that own the numbers."""

from math import inf
from typing import Any

from tiltyard_report._grid import Grid
from tiltyard_report._measures import seconds, spend, tokens, usd
from tiltyard_report._options import Options
from tiltyard_report._rates import Clusters, pass_rate
from tiltyard_report._sample import Quantity, Sample
from tiltyard_report.quality_model import FrontierPlace, Quality, Repeats
from tiltyard_stats import (
    Interval,
    case_counts,
    consistency,
    cost_per_success,
    pass_at_k,
    pass_hat_k,
    reliability,
)


def quality(
    runs: Sample,
    earlier: Sample,
    options: Options,
    clusters: Clusters,
    place: FrontierPlace | None,
) -> Quality | None:
    """All of one arm with one agent, and its earlier attempts; None when no run counts."""
    passes = runs.grid
    if not passes.n:
        return None
    counts = case_counts(passes.passes, passes.runs)
    level = options.confidence
    return Quality(
        rate=pass_rate(passes, options, clusters),
        repeats=tuple(_repeats(passes, k, options) for k in options.pass_k if (passes.runs >= k).any()),
        reliability=reliability(passes.complete, confidence=level) if len(passes.complete) else None,
        consistency=(
            consistency(passes.passes, passes.runs, confidence=level) if (passes.runs > 1).any() else None
        ),
        always=counts.always,
        never=counts.never,
        flaky=counts.flaky,
        flaky_questions=tuple(passes.questions[index] for index in counts.flaky_cases),
        tokens_per_success=_per_success(runs, tokens, level),
        usd_per_success=_per_success(runs, usd, level),
        seconds_per_success=_per_success(runs, seconds, level),
        **_with_losses(runs, earlier),
        frontier=place,
    )


def _repeats(passes: Grid, k: int, options: Options) -> Repeats:
    level, method = options.confidence, options.methods.repeats
    return Repeats(
        k=k,
        at_least_one=pass_at_k(passes.passes, passes.runs, k, confidence=level, method=method),
        every=pass_hat_k(passes.passes, passes.runs, k, confidence=level, method=method),
    )


def _with_losses(runs: Sample, earlier: Sample) -> dict[str, Any]:
    """Everything that was paid over the passes."""
    valid = runs.counted
    paid, passes = spend(runs.followed_by(earlier)), int(valid.column("passed").sum())
    return {
        "all_tokens_per_success": paid.tokens / passes if passes else inf,
        "all_usd_per_success": paid.usd / passes if passes else inf,
        "lost": len(runs) - len(valid) + len(earlier),
        "all_unknown": max(paid.tokens_unknown, paid.usd_unknown),
    }


def _per_success(runs: Sample, quantity: Quantity, confidence: float) -> Interval | None:
    values = runs.values(quantity)
    if not runs.whole(quantity) or not values.sum() > 0:
        return None
    return cost_per_success(values, runs.counted.column("passed"), confidence=confidence)
