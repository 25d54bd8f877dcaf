"""Which arms are on the frontier of quality, time and cost, and how sure that is."""

from collections.abc import Mapping, Sequence
from math import isnan, nan

from tiltyard_report._measures import seconds, tokens, usd
from tiltyard_report._run import Cell, Run
from tiltyard_report._sample import Quantity
from tiltyard_report.quality_model import FrontierPlace
from tiltyard_stats import pareto, pareto_probability

_MOST = 60
"""Arms and repetitions beyond which no resampling is made: each pair of arms is compared in each draw."""
_AXES: dict[str, bool] = {"passes": True, "score": True, "seconds": False, "usd": False, "tokens": False}
"""Whether more is better."""


def frontier(cells: Mapping[Cell, Sequence[Run]]) -> dict[Cell, FrontierPlace]:
    """The place of each arm: among those of all agents, else among those of its own.

    All agents stand on one scale where USD are known and all were asked the same; tokens of different agents
    are not comparable.
    """
    counted = {cell: runs for cell, runs in cells.items() if runs}
    asked = {frozenset(run.question for run in runs) for runs in counted.values()}
    if len(asked) == 1 and all(usd(run) is not None for runs in counted.values() for run in runs):
        return _places(counted, ("passes", "score", "seconds", "usd"))
    places: dict[Cell, FrontierPlace] = {}
    for agent in dict.fromkeys(agent for agent, _ in counted):
        own = _common({cell: runs for cell, runs in counted.items() if cell[0] == agent})
        if own:
            places |= _places(own, ("passes", "score", "seconds", "tokens"))
    return places


def _common(cells: Mapping[Cell, Sequence[Run]]) -> dict[Cell, Sequence[Run]]:
    """The runs of the questions that all of the arms ran."""
    asked = frozenset.intersection(*(frozenset(run.question for run in runs) for runs in cells.values()))
    kept = {cell: [run for run in runs if run.question in asked] for cell, runs in cells.items()}
    return {cell: runs for cell, runs in kept.items() if runs}


def _places(cells: Mapping[Cell, Sequence[Run]], axes: tuple[str, ...]) -> dict[Cell, FrontierPlace]:
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


def _trials(runs: Sequence[Run], axes: Sequence[str]) -> list[list[float | None]]:
    """The means of each repetition; a question that it lacks is left out of it."""
    reps: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        reps.setdefault((run.source, run.rep), []).append(run)
    return [[_value(reps[rep], axis) for axis in axes] for rep in sorted(reps)]


def _value(runs: Sequence[Run], axis: str) -> float | None:
    if axis == "passes":
        return sum(run.passed for run in runs) / len(runs)
    if axis == "score":
        return sum(run.score for run in runs) / len(runs)
    quantity: Quantity = {"seconds": seconds, "usd": usd, "tokens": tokens}[axis]
    values = [quantity(run) for run in runs]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _mean(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    columns = [[value for value in column if value is not None] for column in zip(*rows, strict=True)]
    return [sum(known) / len(known) if len(known) == len(rows) else None for known in columns]
