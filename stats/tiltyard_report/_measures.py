"""Counts and means of some runs, each through the statistics that own the formula."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf, nan
from typing import TypeVar

from tiltyard_report._run import Run
from tiltyard_report.measure_model import Measure, Rate
from tiltyard_report.model import Spend
from tiltyard_stats import mean_interval, stratified_mean, wilson

Quantity = Callable[[Run], float | None]
_Number = TypeVar("_Number", int, float)


def tokens(run: Run) -> float | None:
    """Tokens in and out."""
    return run.tokens


def usd(run: Run) -> float | None:
    """Cost in USD."""
    return run.usd


def turns(run: Run) -> float | None:
    """Turns of the agent."""
    return run.turns


def seconds(run: Run) -> float | None:
    """Wall-clock seconds."""
    return run.seconds


def score(run: Run) -> float | None:
    """Recall of the answer key, or whether it passed."""
    return run.score


def tool_calls(run: Run) -> float | None:
    """Tool calls of the agent."""
    return run.tool_calls


def counted(runs: Iterable[Run]) -> list[Run]:
    """The runs that count as a pass or a failure."""
    return [run for run in runs if run.outcome.counted]


def by_question(runs: Iterable[Run], quantity: Quantity) -> dict[str, list[float]]:
    """The known values of the counted runs, by question."""
    cells: dict[str, list[float]] = {}
    for run in counted(runs):
        value = quantity(run)
        if value is not None:
            cells.setdefault(run.question, []).append(value)
    return dict(sorted(cells.items()))


def measure(runs: Sequence[Run], quantity: Quantity, confidence: float, *, normal: bool = False) -> Measure:
    """Mean of a quantity over the counted runs, each question weighing the same.

    With `normal` it is the plain mean of all runs and a normal interval, as one of the sources has it.
    Where it is unknown for some runs the mean has no bounds: the known ones are no sample of all.
    """
    cells = by_question(runs, quantity)
    known = sum(map(len, cells.values()))
    if not cells:
        return Measure(None, 0, len(counted(runs)))
    if normal:
        values = [value for cell in cells.values() for value in cell]
        interval = mean_interval(values, confidence=confidence, method="z", bounds=(0.0, inf))
    else:
        interval = stratified_mean(list(cells.values()), confidence=confidence, bounds=(0.0, inf))
    unknown = len(counted(runs)) - known
    if unknown:
        warnings = (*interval.warnings, "missing-runs")
        interval = replace(interval, low=nan, high=nan, standard_error=nan, df=nan, warnings=warnings)
    return Measure(interval, known, unknown)


def correct(runs: Sequence[Run], confidence: float) -> Rate:
    """Passes among the counted runs."""
    ends = [run.outcome.passed for run in counted(runs)]
    return rate(sum(ends), len(ends), confidence)


def used_tool(runs: Sequence[Run], confidence: float) -> Rate | None:
    """Counted runs that used what the arm offers, among those that know."""
    uses = [run.used_tool for run in counted(runs) if run.used_tool is not None]
    return rate(sum(uses), len(uses), confidence) if uses else None


def rate(successes: int, n: int, confidence: float) -> Rate:
    """So many of so many, with Wilson's interval."""
    return Rate(successes, n, wilson(successes, n, confidence=confidence) if n else None)


def spend(runs: Sequence[Run]) -> Spend:
    """What some runs cost, as far as known."""
    open_runs = [run for run in runs if run.spent.open_calls]
    known_usd = [run.usd for run in runs if run.usd is not None]
    return Spend(
        runs=len(runs),
        tokens=sum(run.spent.least_tokens if run.tokens is None else run.tokens for run in runs),
        tokens_unknown=sum(run.tokens is None for run in runs),
        usd=sum(known_usd),
        usd_unknown=len(runs) - len(known_usd),
        open_calls=sum(run.spent.open_calls for run in open_runs),
        open_runs=len(open_runs),
        most_tokens=_most([run.spent.most_tokens if run.tokens is None else run.tokens for run in runs]),
        most_usd=_most([run.spent.most_usd if run.usd is None else run.usd for run in runs]),
    )


def _most(bounds: Sequence[_Number | None]) -> _Number | None:
    """The sum of upper bounds; none where one is missing."""
    known = [bound for bound in bounds if bound is not None]
    return sum(known) if len(known) == len(bounds) else None
