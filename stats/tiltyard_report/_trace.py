"""What happened along the way: tools that were called, runs in their order, and how comparisons settled."""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import nan

import numpy as np

from tiltyard_report._compare import compare_tokens
from tiltyard_report._measures import seconds, tokens
from tiltyard_report._passes import Pair, pair
from tiltyard_report._rates import difference
from tiltyard_report._run import Cell
from tiltyard_report._runs import total
from tiltyard_report._sample import Quantity, Sample
from tiltyard_report._selection import Selection
from tiltyard_report.group_model import OrderBin, SettledRow, ToolRow
from tiltyard_stats import Interval
from tiltyard_stats._result import FloatArray, IntArray

_TOOLS = 10
"""Tools that are told of an arm."""
_BINS = 8
"""Points of a line along the order of the runs."""
_MOST_RUNS = 20_000
"""Runs of a trial beyond which nobody looks at how each repetition moved a comparison."""
_MOST_ROWS = 60
"""Points of all lines together, about."""


def tool_rows(cells: Mapping[Cell, Sample]) -> tuple[ToolRow, ...]:
    """The most called tools of each arm."""
    rows: list[ToolRow] = []
    for (agent, arm), runs in cells.items():
        calls: Counter[str] = Counter()
        users: Counter[str] = Counter()
        # Many runs call the same tools in the same order.
        for (tools,), times in runs.counted.counts("tools"):
            for tool, count in Counter(tools).items():
                calls[tool] += count * times
                users[tool] += times
        ranked = sorted(calls, key=lambda name: (-calls[name], name))[:_TOOLS]
        rows += [ToolRow(agent, arm, tool, calls[tool], users[tool]) for tool in ranked]
    return tuple(rows)


def order_bins(cells: Mapping[Cell, Sample]) -> tuple[OrderBin, ...]:
    """The counted runs of each arm along the plan, some at a time."""
    return tuple(row for cell, runs in cells.items() for row in _bins(cell, runs.counted))


def settled(chosen: Selection) -> tuple[SettledRow, ...]:
    """Each comparison as it stood after each repetition."""
    reps = np.unique(chosen.runs.column("rep")).tolist()
    pairs = max(0, len(chosen.cells) - len(chosen.agents))
    small = len(chosen.runs) <= _MOST_RUNS and pairs <= _MOST_ROWS // 2
    if chosen.baseline is None or not small or len(reps) < 2:  # noqa: PLR2004 - one point is no line
        return ()
    # Of many repetitions some are enough to draw a line; the last one always is.
    step = max(1, -(-len(reps) * pairs // _MOST_ROWS))
    shown = sorted({*reps[::step], reps[-1]})
    return tuple(row for rep in shown for row in _settled(chosen, chosen.baseline, rep))


def _settled(chosen: Selection, baseline: str, rep: int) -> Iterable[SettledRow]:
    cells = {cell: runs.where(runs.column("rep") <= rep) for cell, runs in chosen.cells.items()}
    compared = compare_tokens(cells, baseline, options=chosen.options, partial=True, test=False)
    for (agent, arm), comparison in compared.items():
        both = pair(cells[agent, arm], cells.get((agent, baseline), ()))
        # So few questions may all be of one group, which has no spread.
        shown = both if chosen.options.design != "clustered" else None
        found = _interval(shown, chosen) if shown else None
        yield SettledRow(agent, arm, rep, comparison.ratio, found)


def _interval(both: Pair, chosen: Selection) -> Interval:
    return difference(both.ours, both.theirs, chosen.options, chosen.clusters, test=False).interval


def _bins(cell: Cell, runs: Sample) -> Iterable[OrderBin]:
    order = _order(runs)
    size = max(1, -(-len(runs) // _BINS))
    parts = [_relative(runs, quantity) for quantity in (tokens, seconds)]
    for start in range(0, len(runs), size):
        place = order[start : start + size]
        part = runs.take(place)
        yield OrderBin(
            agent=cell[0],
            arm=cell[1],
            first=int(part.column("position")[0]),
            last=int(part.column("position")[-1]),
            started_at=min(part.texts("started_at")),
            runs=len(part),
            passed=int(part.column("passed").sum()),
            tokens=_mean(part.values(tokens)),
            seconds=_mean(part.values(seconds)),
            relative_tokens=_mean(parts[0][place]),
            relative_seconds=_mean(parts[1][place]),
        )


def _order(runs: Sample) -> IntArray:
    """Along the plan; what stands at one place, such as runs of several results, goes by its start."""
    positions = runs.column("position")
    if len(np.unique(positions)) == len(runs):
        return np.argsort(positions)
    return np.lexsort((runs.column("rep"), runs.ranks("started_at"), positions))


def _relative(runs: Sample, quantity: Quantity) -> FloatArray:
    """What each run used over its question's mean, so that a stretch of dear ones is not taken for drift."""
    known = runs.by_question(quantity)
    values = runs.values(quantity)
    if not len(known):
        return values
    means = np.array([total(cell) / len(cell) for cell in known.cells])
    at = np.minimum(np.searchsorted(known.places, runs.ranks("question")), len(known) - 1)
    own = means[at]
    relative: FloatArray = np.divide(values, own, out=np.full(len(values), np.nan), where=own > 0)
    return relative


def _mean(values: FloatArray) -> float:
    return nan if np.isnan(values).any() else total(values) / len(values)
