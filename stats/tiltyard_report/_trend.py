"""Whether tokens, time or passes drifted while the trial ran, whatever the question and the arm."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import exp, isnan
from typing import Literal, NamedTuple

import numpy as np

from tiltyard_report import _format as fmt
from tiltyard_report._measures import seconds, tokens
from tiltyard_report._sample import Quantity, Sample
from tiltyard_report._selection import Selection
from tiltyard_report.group_model import DriftRow
from tiltyard_stats import holm
from tiltyard_stats._result import BoolArray, FloatArray, IntArray
from tiltyard_stats.trend import Trend, trend

_APART = 0.1
"""Difference of the arms' mean places, as a share of the trial, from which they did not run side by side."""


_USED: tuple[tuple[Literal["tokens", "seconds"], Quantity], ...] = (("tokens", tokens), ("seconds", seconds))
"""What a run used: the first of these that is known."""


class _Places(NamedTuple):
    """Runs of one agent, with their places in the order of the trial."""

    runs: Sample
    at: FloatArray
    cells: IntArray
    """Question and arm."""
    apart: bool


def trends(chosen: Selection) -> tuple[DriftRow, ...]:
    """What is known of drift, by agent: what a run used, and whether it passed."""
    found = [item for agent in chosen.agents for item in _of_agent(agent, chosen)]
    tested = [row.pvalue for row in found if not isnan(row.pvalue)]
    adjusted = iter(holm(tested) if tested else ())
    rows = [row if isnan(row.pvalue) else replace(row, adjusted=float(next(adjusted))) for row in found]
    return tuple(replace(row, drifted=row.adjusted < chosen.options.alpha) for row in rows)


def words(row: DriftRow, arms: int) -> str:
    """The change with its uncertainty, and what it means."""
    text = f"{row.agent}: {_change(row)} from the first runs to the last, on the same questions and arms"
    if isnan(row.adjusted):
        return f"{row.agent}: too few runs of a question to see drift in {row.quantity}."
    if not row.drifted:
        return f"{text} ({fmt.pvalue(row.adjusted)}): no drift is seen."
    meaning = "" if arms < 2 else f" {_meaning(row)}"  # noqa: PLR2004 - alone there is nothing to compare
    return f"{text} ({fmt.pvalue(row.adjusted)}): that is drift.{meaning}"


def notes(rows: Sequence[DriftRow], arms: int) -> Iterable[str]:
    """Drift that does no harm to a comparison."""
    return (words(row, arms) for row in rows if row.drifted and not (row.apart and arms > 1))


def alerts(rows: Sequence[DriftRow], arms: int) -> Iterable[str]:
    """Drift that a comparison may show as the doing of an arm."""
    return (f"WARNING: {words(row, arms)}" for row in rows if row.drifted and row.apart and arms > 1)


def _meaning(row: DriftRow) -> str:
    if row.apart:
        return "The arms did not run side by side, so a difference between them may be its doing."
    return "The arms ran side by side, so it moves both sides of a comparison alike."


def _change(row: DriftRow) -> str:
    item = row.change
    if row.quantity == "passes":
        return f"the pass rate moved by {fmt.points(item.estimate)} points ({fmt.point_bounds(item)})"
    bounds = f"{_share(item.low)} to {_share(item.high)}%"
    return f"{row.quantity} moved by {_share(item.estimate)}% ({bounds})"


def _share(factor: float) -> str:
    return f"{100 * (factor - 1):+.0f}"


def _of_agent(agent: str, chosen: Selection) -> Iterable[DriftRow]:
    places = _places([runs for (name, _), runs in chosen.cells.items() if name == agent])
    for name, quantity in _USED:
        values = places.runs.values(quantity)
        kept = values > 0
        if kept.any():
            change = _trend(np.log(values[kept]), kept, places, chosen)
            yield _row(agent, name, _factor(change), change, apart=places.apart)
            break
    if len(places.runs):
        passed = places.runs.column("passed")
        change = _trend(passed.astype(np.float64), np.ones(len(passed), dtype=bool), places, chosen)
        yield _row(agent, "passes", change, change, apart=places.apart)


def _row(
    agent: str, quantity: Literal["tokens", "seconds", "passes"], shown: Trend, tested: Trend, *, apart: bool
) -> DriftRow:
    return DriftRow(agent, quantity, shown, tested.pvalue, float("nan"), drifted=False, apart=apart)


def _trend(values: FloatArray, kept: BoolArray, places: _Places, chosen: Selection) -> Trend:
    return trend(values, places.at[kept], places.cells[kept], confidence=chosen.confidence)


def _factor(change: Trend) -> Trend:
    """Of a change of the logarithm."""
    low, high = exp(min(change.low, 700.0)), exp(min(change.high, 700.0))
    return replace(change, estimate=exp(min(change.estimate, 700.0)), low=low, high=high)


def _places(samples: Sequence[Sample]) -> _Places:
    """The counted runs, arm by arm and question by question."""
    parts = [runs.by_name for runs in samples]
    runs = parts[0].followed_by(*parts[1:])
    arms = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    cells = np.unique(
        arms * (len(runs) + 1) + np.unique(runs.ranks("question"), return_inverse=True)[1],
        return_inverse=True,
    )[1]
    at = _along(runs)
    return _Places(runs, at, cells, apart=_are_apart(at, arms))


def _along(runs: Sample) -> FloatArray:
    """Place in the plan's order, one result after the other; by repetition where there is no order."""
    ordered = runs.column("position").any()
    at: FloatArray = runs.column("position" if ordered else "rep").astype(np.float64)
    step = at.max(initial=0.0) + 1
    return np.asarray(at + step * runs.column("source"), dtype=np.float64)


def _are_apart(places: FloatArray, arms: IntArray) -> bool:
    if not len(places):
        return False
    means = np.bincount(arms, places) / np.maximum(np.bincount(arms), 1)
    seen = means[np.bincount(arms) > 0]
    return bool(np.ptp(seen) > _APART * max(np.ptp(places), 1.0))
