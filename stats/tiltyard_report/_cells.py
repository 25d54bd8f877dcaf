"""The table by question: every cell of question, agent and arm, computed for all questions at once."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import nan

from tiltyard_report._measures import bounds_of, score, seconds, tokens, usd
from tiltyard_report._sample import Quantity, Sample
from tiltyard_report._selection import Selection
from tiltyard_report.measure_model import Measure, Rate
from tiltyard_report.model import QuestionCell, QuestionRow
from tiltyard_stats import Interval, cell_means, cost_ratio, newcombe_diff, wilson
from tiltyard_stats._result import FloatArray

_COMPARED = 200
"""Questions up to which each one is compared by itself: nobody reads more intervals than that."""


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
    if arm == chosen.baseline or chosen.baseline is None or len(chosen.questions) > _COMPARED:
        return None
    return chosen.cells.get((agent, chosen.baseline))


def _cells(
    agent: str, arm: str, chosen: Selection, runs: Sample, baseline: Sample | None
) -> list[QuestionCell]:
    level, names = chosen.confidence, chosen.questions
    rates = _rates(names, runs, level)
    measures = [_measures(names, runs, quantity, level) for quantity in (tokens, usd, seconds, score)]
    ratios = _ratios(runs, baseline, level) if baseline else {}
    moves = _differences(rates, _rates(names, baseline, level), names, level) if baseline else {}
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
    sides = [_whole(side) for side in (ours, theirs)]
    return {
        name: cost_ratio(cell, sides[1][name], confidence=level)
        for name, cell in sides[0].items()
        if name in sides[1] and sides[1][name].sum() > 0
    }


def _whole(runs: Sample) -> dict[str, FloatArray]:
    known, grid = runs.by_question(tokens), runs.grid
    counted = dict(zip(grid.questions, grid.runs.tolist(), strict=True))
    cells = zip(known, known.cells, strict=True)
    return {name: cell for name, cell in cells if len(cell) == counted[name]}


def _differences(
    ours: Sequence[Rate], theirs: Sequence[Rate], names: Sequence[str], level: float
) -> dict[str, Interval]:
    return {
        name: newcombe_diff(one.successes, one.n, other.successes, other.n, confidence=level)
        for name, one, other in zip(names, ours, theirs, strict=True)
        if one.n and other.n
    }
