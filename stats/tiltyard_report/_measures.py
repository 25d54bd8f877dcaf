"""Counts and means of some runs, each through the statistics that own the formula."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan

import numpy as np

from tiltyard_report._run import Run
from tiltyard_report._runs import Column, known, total
from tiltyard_report._sample import ByQuestion, Quantity, Sample, sample
from tiltyard_report.measure_model import Measure, Rate
from tiltyard_report.model import Spend
from tiltyard_stats import mean_interval, stratified_mean, wilson

tokens = Quantity("tokens")
"""Tokens in and out."""
usd = Quantity("usd")
"""Cost in USD."""
turns = Quantity("turns")
"""Turns of the agent."""
seconds = Quantity("seconds")
"""Wall-clock seconds."""
score = Quantity("score")
"""Recall of the answer key, or whether it passed."""
tool_calls = Quantity("tool_calls")
"""Tool calls of the agent."""


def bounds_of(quantity: Quantity) -> tuple[float, float]:
    """Values that a mean can have."""
    return (0.0, 1.0) if quantity is score else (0.0, inf)


def counted(runs: Sequence[Run]) -> Sample:
    """The runs that count as a pass or a failure."""
    return sample(runs).counted


def by_question(runs: Sequence[Run], quantity: Quantity) -> ByQuestion:
    """The known values of the counted runs, by question."""
    return sample(runs).by_question(quantity)


def measure(runs: Sequence[Run], quantity: Quantity, confidence: float, *, normal: bool = False) -> Measure:
    """Mean of a quantity over the counted runs, each question weighing the same.

    With `normal` it is the plain mean of all runs and a normal interval, as one of the sources has it.
    Where it is unknown for some runs the mean has no bounds: the known ones are no sample of all.
    """
    cells = by_question(runs, quantity).cells
    known = len(cells.flat)
    if not known:
        return Measure(None, 0, len(counted(runs)))
    if normal:
        interval = mean_interval(cells.flat, confidence=confidence, method="z", bounds=bounds_of(quantity))
    else:
        interval = stratified_mean(cells, confidence=confidence, bounds=bounds_of(quantity))
    unknown = len(counted(runs)) - known
    if unknown:
        warnings = (*interval.warnings, "missing-runs")
        interval = replace(interval, low=nan, high=nan, standard_error=nan, df=nan, warnings=warnings)
    return Measure(interval, known, unknown)


def correct(runs: Sequence[Run], confidence: float) -> Rate:
    """Passes among the counted runs."""
    ends = counted(runs).column("passed")
    return rate(int(ends.sum()), len(ends), confidence)


def used_tool(runs: Sequence[Run], confidence: float) -> Rate | None:
    """Counted runs that used what the arm offers, among those that know."""
    uses = known(counted(runs).column("used_tool"))
    return rate(int(uses.sum()), len(uses), confidence) if len(uses) else None


def rate(successes: int, n: int, confidence: float) -> Rate:
    """So many of so many, with Wilson's interval."""
    return Rate(successes, n, wilson(successes, n, confidence=confidence) if n else None)


def spend(runs: Sequence[Run]) -> Spend:
    """What some runs cost, as far as known."""
    every = sample(runs)
    tokens, usd, calls = (every.column(name) for name in ("tokens", "usd", "open_calls"))
    most_usd = _most(usd, every.column("most_usd"))
    most_tokens = _most(tokens, every.column("most_tokens"))
    return Spend(
        runs=len(every),
        tokens=int(_or(tokens, every.column("least_tokens")).sum()),
        tokens_unknown=int(np.isnan(tokens).sum()),
        usd=total(_or(usd, every.column("least_usd"))),
        usd_unknown=int(np.isnan(usd).sum()),
        open_calls=int(calls.sum()),
        open_runs=int((calls != 0).sum()),
        most_tokens=None if most_tokens is None else int(most_tokens),
        most_usd=most_usd,
    )


def _or(values: Column, bounds: Column) -> Column:
    """A bound stands for what is not known."""
    return np.where(np.isnan(values), bounds, values)


def _most(values: Column, bounds: Column) -> float | None:
    """The sum of upper bounds; none where one is missing."""
    most = _or(values, bounds)
    return None if np.isnan(most).any() else total(most)
