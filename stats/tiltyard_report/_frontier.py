"""Which arms are on the frontier of quality, time and cost, and how sure that is."""

from collections.abc import Mapping, Sequence
from functools import reduce
from math import isnan, nan

import numpy as np

from tiltyard_report._measures import usd
from tiltyard_report._run import Cell
from tiltyard_report._sample import Sample
from tiltyard_report.quality_model import FrontierPlace
from tiltyard_stats import pareto, pareto_probability

_MOST = 60
"""Arms and repetitions beyond which no resampling is made: each pair of arms is compared in each draw."""
_AXES: dict[str, bool] = {"passes": True, "score": True, "seconds": False, "usd": False, "tokens": False}
"""Whether more is better."""
_COLUMNS = {"passes": "passed"}


def frontier(cells: Mapping[Cell, Sample]) -> dict[Cell, FrontierPlace]:
    """The place of each arm: among those of all agents, else among those of its own.

    All agents stand on one scale where USD are known and all were asked the same; tokens of different agents
    are not comparable.
    """
    counted = {cell: valid for cell, runs in cells.items() if len(valid := runs.counted)}
    asked = {runs.places.tobytes() for runs in counted.values()}
    if len(asked) == 1 and all(runs.whole(usd) for runs in counted.values()):
        return _places(counted, ("passes", "score", "seconds", "usd"))
    places: dict[Cell, FrontierPlace] = {}
    for agent in dict.fromkeys(agent for agent, _ in counted):
        own = _common({cell: runs for cell, runs in counted.items() if cell[0] == agent})
        if own:
            places |= _places(own, ("passes", "score", "seconds", "tokens"))
    return places


def _common(cells: Mapping[Cell, Sample]) -> dict[Cell, Sample]:
    """The runs of the questions that all of the arms ran."""
    asked = reduce(np.intersect1d, [runs.places for runs in cells.values()])
    kept = {cell: runs.where(np.isin(runs.ranks("question"), asked)) for cell, runs in cells.items()}
    return {cell: runs for cell, runs in kept.items() if len(runs)}


def _places(cells: Mapping[Cell, Sample], axes: tuple[str, ...]) -> dict[Cell, FrontierPlace]:
    trials = [_trials(runs, axes) for runs in cells.values()]
    maximize = [_AXES[axis] for axis in axes]
    means = pareto([_mean(rows) for rows in trials], maximize)
    probabilities = [nan] * len(trials)
    if 1 < len(trials) <= _MOST:
        probabilities = pareto_probability(trials, maximize).probability.tolist()
    out = set(means.left_out)
    return {
        cell: FrontierPlace(
            on=None if index in out else index in means.frontier,
            probability=probabilities[index],
            axes=axes,
            among=len(trials),
            warnings=tuple(
                code
                for code, holds in (("missing-axis", index in out), ("n<2", isnan(probabilities[index])))
                if holds
            ),
        )
        for index, cell in enumerate(cells)
    }


def _trials(runs: Sample, axes: Sequence[str]) -> list[list[float | None]]:
    """The means of each repetition; a question that it lacks is left out of it."""
    reps = np.unique(runs.together("source", "rep"), return_inverse=True)[1]
    sizes = np.bincount(reps)
    columns = [np.bincount(reps, runs.column(_COLUMNS.get(axis, axis))) / sizes for axis in axes]
    return [[None if isnan(mean) else mean for mean in row] for row in np.transpose(columns).tolist()]


def _mean(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    columns = [[value for value in column if value is not None] for column in zip(*rows, strict=True)]
    return [sum(known) / len(known) if len(known) == len(rows) else None for known in columns]
