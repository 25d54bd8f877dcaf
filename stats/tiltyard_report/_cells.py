"""The table by question: every cell of question, agent and arm, computed for all questions at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan

from tiltyard_report._measures import bounds_of, score, seconds, tokens, usd
from tiltyard_report._run import Cell, Run
from tiltyard_report._sample import Quantity
from tiltyard_report._selection import Selection
from tiltyard_report.measure_model import Measure, Rate
from tiltyard_report.model import QuestionCell, QuestionRow
from tiltyard_stats import Interval, cell_means, cost_ratio, newcombe_diff, wilson

_COMPARED = 200
"""Questions up to which each one is compared by itself: nobody reads more intervals than that."""
_Column = Mapping[str, Sequence[Run]]


def question_rows(chosen: Selection) -> tuple[QuestionRow, ...]:
    """One row per question, its cells in the order of the report's columns."""
    columns: dict[Cell, _Column] = {cell: runs.questions for cell, runs in chosen.cells.items()}
    cells = {
        (agent, arm): _cells(agent, arm, chosen, column, _baseline(columns, chosen, agent, arm))
        for (agent, arm), column in columns.items()
    }
    return tuple(
        QuestionRow(question, tuple(column[question] for column in cells.values()))
        for question in chosen.questions
    )


def _baseline(columns: Mapping[Cell, _Column], chosen: Selection, agent: str, arm: str) -> _Column | None:
    if arm == chosen.baseline or chosen.baseline is None or len(chosen.questions) > _COMPARED:
        return None
    return columns.get((agent, chosen.baseline))


def _cells(
    agent: str, arm: str, chosen: Selection, column: _Column, baseline: _Column | None
) -> dict[str, QuestionCell]:
    level = chosen.confidence
    names = chosen.questions
    rates = _rates(names, column, level)
    measures = [_measures(names, column, quantity, level) for quantity in (tokens, usd, seconds, score)]
    return {
        name: QuestionCell(
            agent=agent,
            arm=arm,
            tokens=measures[0][name],
            correct=rates[name],
            usd=measures[1][name],
            seconds=measures[2][name],
            score=measures[3][name],
            flaky=0 < rates[name].successes < rates[name].n,
            relative_tokens=_ratio(column.get(name), baseline.get(name), level) if baseline else None,
            difference=_difference(column.get(name), baseline.get(name), level) if baseline else None,
        )
        for name in names
    }


def _rates(names: Sequence[str], column: _Column, level: float) -> dict[str, Rate]:
    rates = dict.fromkeys(names, Rate(0, 0, None))
    there = [name for name in names if name in column]
    if there:
        passes = [sum(run.passed for run in column[name]) for name in there]
        runs = [len(column[name]) for name in there]
        bounds = wilson(passes, runs, confidence=level)
        for at, name in enumerate(there):
            rates[name] = Rate(passes[at], runs[at], bounds[at])
    return rates


def _measures(names: Sequence[str], column: _Column, quantity: Quantity, level: float) -> dict[str, Measure]:
    measures = dict.fromkeys(names, Measure(None, 0, 0))
    values = {name: [quantity(run) for run in column[name]] for name in names if name in column}
    known = {name: [value for value in cell if value is not None] for name, cell in values.items()}
    there = [name for name, cell in known.items() if cell]
    means = cell_means(
        [known[name] for name in there], confidence=level, bounds=bounds_of(quantity), claim="these questions"
    ) if there else ()  # fmt: skip
    intervals = {name: means[at] for at, name in enumerate(there)}
    for name, cell in values.items():
        unknown = len(cell) - len(known[name])
        interval = intervals.get(name)
        if unknown and interval:
            codes = (*interval.warnings, "missing-runs")
            interval = replace(interval, low=nan, high=nan, standard_error=nan, df=nan, warnings=codes)
        measures[name] = Measure(interval, len(known[name]), unknown)
    return measures


def _ratio(ours: Sequence[Run] | None, theirs: Sequence[Run] | None, level: float) -> Interval | None:
    if not ours or not theirs:
        return None
    sides = [[run.tokens for run in side] for side in (ours, theirs)]
    known = [[value for value in side if value is not None] for side in sides]
    if any(len(some) < len(side) for some, side in zip(known, sides, strict=True)) or not sum(known[1]):
        return None
    return cost_ratio(known[0], known[1], confidence=level)


def _difference(ours: Sequence[Run] | None, theirs: Sequence[Run] | None, level: float) -> Interval | None:
    if not ours or not theirs:
        return None
    counts = [(sum(run.passed for run in side), len(side)) for side in (ours, theirs)]
    return newcombe_diff(*counts[0], *counts[1], confidence=level)
