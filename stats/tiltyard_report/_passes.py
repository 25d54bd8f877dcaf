"""Verdicts on pass rates: each comparison tested, all of a report corrected together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import isnan, nan

import numpy as np

from tiltyard_report._grid import Grid
from tiltyard_report._options import Options
from tiltyard_report._rates import Clusters, Tested, difference
from tiltyard_report._run import Cell, Run
from tiltyard_report._sample import sample
from tiltyard_stats import Decision, corrected_confidence, holm
from tiltyard_stats.decide import MINIMUM_RUNS, NO_DIFFERENCE, NO_VERDICT, SETTLED_RUNS

HIGHER = "higher"
LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Pair:
    """An arm and the baseline with one agent, on the questions that both ran."""

    ours: Grid
    theirs: Grid
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A tested difference with what is made of it."""

    pair: Pair
    tested: Tested
    adjusted: float
    decision: Decision


def pair(arm: Sequence[Run], baseline: Sequence[Run]) -> Pair | None:
    """The two sides on their common questions; None where there is none."""
    sides = sample(arm), sample(baseline)
    attempted = [asked for side in sides for asked in side.attempted.values()]
    common = reduce(np.intersect1d, [sides[0].places, sides[1].places, *attempted])
    if not len(common):
        return None
    every = reduce(np.union1d, attempted)
    ours, theirs = (side.grid_of(common) for side in sides)
    return Pair(ours, theirs, tuple(sides[0].named(np.setdiff1d(every, common, assume_unique=True))))


def judge(
    pairs: Mapping[Cell, Pair | None], options: Options, clusters: Clusters, *, partial: bool
) -> dict[Cell, Judged]:
    """The verdict of each comparison that has a common question, corrected for all of them."""
    tested = {
        cell: difference(each.ours, each.theirs, options, clusters) for cell, each in pairs.items() if each
    }
    family = [cell for cell, test in tested.items() if not isnan(test.pvalue)]
    adjusted = dict(zip(family, holm([tested[cell].pvalue for cell in family]).tolist(), strict=True))
    judged = {}
    for cell, test in tested.items():
        each = pairs[cell]
        if each is not None:
            one = Judged(each, test, adjusted.get(cell, nan), Decision(NO_VERDICT, ("partial",)))
            judged[cell] = (
                one if partial else replace(one, decision=_decide(one, options, clusters, len(tested)))
            )
    return judged


def _decide(item: Judged, options: Options, clusters: Clusters, family: int) -> Decision:
    ours, theirs, test = item.pair.ours.n, item.pair.theirs.n, item.tested
    if min(ours, theirs) < MINIMUM_RUNS:
        return Decision(NO_VERDICT, ("few-runs",))
    if test.rule == "rerun":
        return Decision(NO_VERDICT, ("rerun",))
    if options.design == "curated":
        if isnan(item.adjusted):
            return Decision(NO_VERDICT, ("unknown-bound",))
        clear, alone = item.adjusted <= options.alpha, test.pvalue <= options.alpha
    else:
        if not test.interval.known:
            return Decision(NO_VERDICT, ("unknown-bound",))
        clear = _corrected(item, options, clusters, family)
        alone = test.interval.excludes(0.0)
    if not clear:
        return Decision(NO_DIFFERENCE, ("multiplicity",) if alone else ())
    codes = ("provisional",) if min(ours, theirs) < SETTLED_RUNS else ()
    return Decision(HIGHER if test.interval.estimate > 0 else LOWER, codes)


def _corrected(item: Judged, options: Options, clusters: Clusters, family: int) -> bool:
    """Whether the interval of a design without a test excludes no change at the corrected confidence."""
    level = corrected_confidence(family, alpha=options.alpha)
    wide = replace(options, confidence=level)
    return difference(item.pair.ours, item.pair.theirs, wide, clusters).interval.excludes(0.0)
