"""Relative cost of each arm against the baseline, with verdicts corrected for the number of comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan, nan

import numpy as np

from tiltyard_report._measures import by_question, counted, tokens, usd
from tiltyard_report._options import Methods, Options
from tiltyard_report._run import Cell, Run
from tiltyard_report._sample import Quantity, sample
from tiltyard_report.model import Comparison, Gap
from tiltyard_specs.errors import DataError, UsageError
from tiltyard_stats import (
    Decision,
    Interval,
    cost_ratio,
    cost_ratio_stratified,
    cost_ratio_test,
    holm,
    token_verdict,
)
from tiltyard_stats.cells import Cells
from tiltyard_stats.decide import MINIMUM_RUNS, NO_VERDICT


def compare_tokens(
    runs: Mapping[Cell, Sequence[Run]],
    baseline: str,
    *,
    options: Options,
    partial: bool,
    test: bool = True,
) -> dict[Cell, Comparison]:
    """Tokens of each arm against the baseline of the same agent, with verdicts.

    A partial result gets no verdict: what is missing may not be missing by chance.
    """
    # Only the default has a test that goes with its interval.
    tested = test and options.methods.cost == options.methods.one_cost == "log-t"
    raw = {
        cell: _ratio(runs[cell], runs.get((cell[0], baseline), ()), tokens, options, tested=tested)
        for cell in runs
        if cell[1] != baseline
    }
    adjusted = _adjust(raw) if tested else {}
    return {
        cell: _decide(comparison, adjusted.get(cell, nan), partial=partial, tested=tested)
        for cell, comparison in raw.items()
    }


def compare_usd(arm: Sequence[Run], baseline: Sequence[Run], options: Options) -> Comparison | None:
    """USD of an arm against the baseline, or None unless every counted run has a known cost."""
    if not all(sample(side).whole(usd) for side in (arm, baseline)):
        return None
    comparison = _ratio(arm, baseline, usd, options, tested=False)
    return comparison if comparison.ratio else None


def _ratio(
    arm: Sequence[Run], baseline: Sequence[Run], quantity: Quantity, options: Options, *, tested: bool
) -> Comparison:
    gaps = (*_gap(arm, quantity), *_gap(baseline, quantity))
    ours, theirs = by_question(arm, quantity), by_question(baseline, quantity)
    both = np.intersect1d(ours.places, theirs.places, assume_unique=True)
    # Nothing is so many times what cost nothing; this happens where no run made a model call.
    free = theirs.on(both).sums == 0
    common = both[~free]
    pairs = ours.on(common), theirs.on(common)
    # A run of unknown cost is often a dear one, such as one that was cut off, so the others are no sample.
    defined = not gaps and len(common) > 0
    apart = np.setxor1d(ours.places, theirs.places, assume_unique=True)
    return Comparison(
        ratio=_interval(*pairs, options) if defined else None,
        gaps=gaps,
        n_arm=len(pairs[0].flat),
        n_baseline=len(pairs[1].flat),
        questions=tuple(sample(arm).named(common)),
        left_out=tuple(sample(arm).named(apart)),
        free=tuple(sample(arm).named(both[free])),
        pvalue=cost_ratio_test(*pairs).pvalue if defined and tested else nan,
        adjusted=nan,
        decision=None,
    )


def _interval(ours: Cells, theirs: Cells, options: Options) -> Interval:
    methods: Methods = options.methods
    if len(ours) == 1 and methods.one_cost != "log-t":
        return cost_ratio(ours[0], theirs[0], confidence=options.confidence, method=methods.one_cost)
    if methods.one_question_only:
        raise UsageError(
            f"method {methods.name} compares one question, and here are {len(ours)}; "
            "choose one with --question."
        )
    try:
        return cost_ratio_stratified(ours, theirs, confidence=options.confidence, method=methods.cost)
    except ValueError as error:
        raise DataError(f"method {methods.name} does not fit these runs: {error}") from error


def _gap(runs: Sequence[Run], quantity: Quantity) -> tuple[Gap, ...]:
    valid = counted(runs)
    missing = np.isnan(valid.column(quantity.name))
    if not missing.any():
        return ()
    unknown = valid.where(missing)
    calls = int(unknown.column("open_calls").sum())
    return (Gap(unknown[:1].texts("arm")[0], len(unknown), len(valid), calls),)


def _some_known(comparison: Comparison) -> bool:
    """Whether tokens are known of any run, if only a part; else nothing was metered or reported."""
    known = comparison.n_arm + comparison.n_baseline
    return known > 0 or any(gap.open_calls or gap.unknown < gap.runs for gap in comparison.gaps)


def _adjust(comparisons: Mapping[Cell, Comparison]) -> dict[Cell, float]:
    """Holm over the comparisons that can get a verdict."""
    tested = [cell for cell, item in comparisons.items() if _testable(item)]
    return dict(zip(tested, holm([comparisons[cell].pvalue for cell in tested]).tolist(), strict=True))


def _testable(comparison: Comparison) -> bool:
    return min(comparison.n_arm, comparison.n_baseline) >= MINIMUM_RUNS and not isnan(comparison.pvalue)


def _decide(comparison: Comparison, adjusted: float, *, partial: bool, tested: bool) -> Comparison:
    if comparison.gaps and _some_known(comparison):
        decision = Decision(NO_VERDICT, ("unknown-tokens",))
    elif comparison.ratio is None:
        why = "free-baseline" if comparison.free and not comparison.gaps else "unknown-cost"
        decision = Decision(NO_VERDICT, (why,))
    elif partial:
        decision = Decision(NO_VERDICT, ("partial",))
    else:
        decision = token_verdict(
            comparison.ratio,
            n_arm=comparison.n_arm,
            n_baseline=comparison.n_baseline,
            pvalue=adjusted if tested else None,
        )
    return replace(comparison, adjusted=adjusted, decision=decision)
