"""The table by question: every cell of question, agent and arm, computed for all questions at once."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import nan

import numpy as np

from tiltyard_report._grid import Grid
from tiltyard_report._measures import bounds_of, score, seconds, tokens, usd
from tiltyard_report._sample import Quantity, Sample
from tiltyard_report._selection import Selection
from tiltyard_report.measure_model import Measure, Rate
from tiltyard_report.model import QuestionCell, QuestionRow
from tiltyard_stats import Interval, cell_means, wilson
from tiltyard_stats._result import IntArray
from tiltyard_stats.cost import cost_ratio_cells
from tiltyard_stats.two_proportions import newcombe_diffs


def question_rows(chosen: Selection) -> tuple[QuestionRow, ...]:
    """One row per question, its cells in the order of the report's columns."""
    cells = [
        _cells(agent, arm, chosen, runs, _baseline(chosen, agent, arm))
        for (agent, arm), runs in chosen.cells.items()
    ]
    columns = zip(*cells, strict=True) if cells else ((),) * len(chosen.questions)
    return tuple(
        QuestionRow(question, tuple(row)) for question, row in zip(chosen.questions, columns, strict=True)
    )


def _baseline(chosen: Selection, agent: str, arm: str) -> Sample | None:
    if arm == chosen.baseline or chosen.baseline is None:
        return None
    return chosen.cells.get((agent, chosen.baseline))


def _cells(
    agent: str, arm: str, chosen: Selection, runs: Sample, baseline: Sample | None
) -> list[QuestionCell]:
    level, names = chosen.confidence, chosen.questions
    rates = _rates(names, runs, level)
    measures = [_measures(names, runs, quantity, level) for quantity in (tokens, usd, seconds, score)]
    ratios = _ratios(runs, baseline, level) if baseline else {}
    moves = _differences(runs.grid, baseline.grid, level) if baseline else {}
    return [
        QuestionCell(
            agent=agent,
            arm=arm,
            tokens=used[0],
            correct=rate,
            usd=used[1],
            seconds=used[2],
            score=used[3],
            flaky=0 < rate.successes < rate.n,
            relative_tokens=ratios.get(name),
            difference=moves.get(name),
        )
        for name, rate, *used in zip(names, rates, *measures, strict=True)
    ]


def _rates(names: Sequence[str], runs: Sample, level: float) -> list[Rate]:
    grid = runs.grid
    if not grid.n:
        return [Rate(0, 0, None)] * len(names)
    bounds = wilson(grid.passes, grid.runs, confidence=level)
    counts = zip(grid.passes.tolist(), grid.runs.tolist(), bounds, strict=True)
    rates = {name: Rate(*count) for name, count in zip(grid.questions, counts, strict=True)}
    nothing = Rate(0, 0, None)
    return [rates.get(name, nothing) for name in names]


def _measures(names: Sequence[str], runs: Sample, quantity: Quantity, level: float) -> list[Measure]:
    known = runs.by_question(quantity)
    means: Iterable[Interval] = ()
    if len(known):
        means = cell_means(known.cells, confidence=level, bounds=bounds_of(quantity), claim="these questions")
    intervals = dict(zip(known, means, strict=True))
    sizes = dict(zip(known, known.cells.n.tolist(), strict=True))
    counted = dict(zip(runs.grid.questions, runs.grid.runs.tolist(), strict=True))
    return [
        _measure(intervals.get(name), sizes.get(name, 0), counted.get(name, 0) - sizes.get(name, 0))
        for name in names
    ]


def _measure(interval: Interval | None, known: int, unknown: int) -> Measure:
    if unknown and interval:
        codes = (*interval.warnings, "missing-runs")
        interval = replace(interval, low=nan, high=nan, standard_error=nan, df=nan, warnings=codes)
    return Measure(interval, known, unknown)


def _ratios(ours: Sample, theirs: Sample, level: float) -> dict[str, Interval]:
    """Of the questions of which the tokens of every run are known."""
    sides = _whole(ours), _whole(theirs)
    common = np.intersect1d(*sides, assume_unique=True)
    bases = theirs.by_question(tokens).on(common)
    common, bases = common[bases.sums > 0], bases.take(np.flatnonzero(bases.sums > 0))
    if not len(common):
        return {}
    arms = ours.by_question(tokens).on(common)
    return dict(zip(ours.named(common), cost_ratio_cells(arms, bases, confidence=level), strict=True))


def _whole(runs: Sample) -> IntArray:
    """The places of those questions."""
    known = runs.by_question(tokens)
    counted = runs.grid.runs[np.searchsorted(runs.places, known.places)]
    places: IntArray = known.places[known.cells.n == counted]
    return places


def _differences(ours: Grid, theirs: Grid, level: float) -> dict[str, Interval]:
    common, *places = np.intersect1d(ours.questions, theirs.questions, return_indices=True)
    if not len(common):
        return {}
    counts = [
        part[at] for side, at in zip((ours, theirs), places, strict=True) for part in (side.passes, side.runs)
    ]
    return dict(zip(common.tolist(), newcombe_diffs(*counts, confidence=level), strict=True))
