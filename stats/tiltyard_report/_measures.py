"""Counts and means of some runs, each through the statistics that own the formula."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf, nan
from operator import attrgetter
from typing import TypeVar

from tiltyard_report._run import Run
from tiltyard_report._sample import Quantity, Sample, sample
from tiltyard_report.measure_model import Measure, Rate
from tiltyard_report.model import Spend
from tiltyard_stats import mean_interval, stratified_mean, wilson

_Number = TypeVar("_Number", int, float)

tokens: Quantity = attrgetter("tokens")
"""Tokens in and out."""
usd: Quantity = attrgetter("usd")
"""Cost in USD."""
turns: Quantity = attrgetter("turns")
"""Turns of the agent."""
seconds: Quantity = attrgetter("seconds")
"""Wall-clock seconds."""
score: Quantity = attrgetter("score")
"""Recall of the answer key, or whether it passed."""
tool_calls: Quantity = attrgetter("tool_calls")
"""Tool calls of the agent."""


def bounds_of(quantity: Quantity) -> tuple[float, float]:
    """Values that a mean can have."""
    return (0.0, 1.0) if quantity is score else (0.0, inf)


def counted(runs: Iterable[Run]) -> list[Run]:
    """The runs that count as a pass or a failure."""
    return runs.counted if isinstance(runs, Sample) else [run for run in runs if run.counted]


def by_question(runs: Sequence[Run], quantity: Quantity) -> dict[str, list[float]]:
    """The known values of the counted runs, by question."""
    return sample(runs).by_question(quantity)


def values(runs: Sequence[Run], quantity: Quantity) -> list[float | None]:
    """A quantity of the counted runs, None where it is not known."""
    return sample(runs).values(quantity)


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
        pooled = [value for cell in cells.values() for value in cell]
        interval = mean_interval(pooled, confidence=confidence, method="z", bounds=bounds_of(quantity))
    else:
        interval = stratified_mean(list(cells.values()), confidence=confidence, bounds=bounds_of(quantity))
    unknown = len(counted(runs)) - known
    if unknown:
        warnings = (*interval.warnings, "missing-runs")
        interval = replace(interval, low=nan, high=nan, standard_error=nan, df=nan, warnings=warnings)
    return Measure(interval, known, unknown)


def correct(runs: Sequence[Run], confidence: float) -> Rate:
    """Passes among the counted runs."""
    ends = [run.passed for run in counted(runs)]
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
        usd=sum(run.spent.least_usd if run.usd is None else run.usd for run in runs),
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
