"""What happened along the way: tools that were called, runs in their order, and how comparisons settled."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import nan
from typing import NamedTuple

from tiltyard_report._compare import compare_tokens
from tiltyard_report._measures import by_question, counted, seconds, tokens
from tiltyard_report._passes import Pair, pair
from tiltyard_report._rates import difference
from tiltyard_report._run import Cell, Run
from tiltyard_report._sample import Quantity
from tiltyard_report._selection import Selection
from tiltyard_report.group_model import OrderBin, SettledRow, ToolRow
from tiltyard_stats import Interval

_TOOLS = 10
"""Tools that are told of an arm."""
_BINS = 8
"""Points of a line along the order of the runs."""
_MOST_RUNS = 20_000
"""Runs of a trial beyond which nobody looks at how each repetition moved a comparison."""
_MOST_ROWS = 60
"""Points of all lines together, about."""


def tool_rows(cells: Mapping[Cell, Sequence[Run]]) -> tuple[ToolRow, ...]:
    """The most called tools of each arm."""
    rows: list[ToolRow] = []
    for (agent, arm), runs in cells.items():
        calls: Counter[str] = Counter()
        users: Counter[str] = Counter()
        # Many runs call the same tools in the same order.
        for tools, times in Counter(run.tools for run in counted(runs)).items():
            for tool, count in Counter(tools).items():
                calls[tool] += count * times
                users[tool] += times
        ranked = sorted(calls, key=lambda name: (-calls[name], name))[:_TOOLS]
        rows += [ToolRow(agent, arm, tool, calls[tool], users[tool]) for tool in ranked]
    return tuple(rows)


def order_bins(cells: Mapping[Cell, Sequence[Run]]) -> tuple[OrderBin, ...]:
    """The counted runs of each arm along the plan, some at a time."""
    return tuple(
        _bin(cell, part, means)
        for cell, runs in cells.items()
        for means in [_Means(_question_means(runs, tokens), _question_means(runs, seconds))]
        for part in _parts(sorted(counted(runs), key=lambda run: (run.position, run.started_at, run.rep)))
    )


def settled(chosen: Selection) -> tuple[SettledRow, ...]:
    """Each comparison as it stood after each repetition."""
    reps = sorted({run.rep for run in chosen.runs})
    pairs = max(0, len(chosen.cells) - len(chosen.agents))
    small = len(chosen.runs) <= _MOST_RUNS and pairs <= _MOST_ROWS // 2
    if chosen.baseline is None or not small or len(reps) < 2:  # noqa: PLR2004 - one point is no line
        return ()
    # Of many repetitions some are enough to draw a line; the last one always is.
    step = max(1, -(-len(reps) * pairs // _MOST_ROWS))
    shown = sorted({*reps[::step], reps[-1]})
    return tuple(row for rep in shown for row in _settled(chosen, chosen.baseline, rep))


def _settled(chosen: Selection, baseline: str, rep: int) -> Iterable[SettledRow]:
    cells = {cell: [run for run in runs if run.rep <= rep] for cell, runs in chosen.cells.items()}
    compared = compare_tokens(cells, baseline, options=chosen.options, partial=True, test=False)
    for (agent, arm), comparison in compared.items():
        both = pair(cells[agent, arm], cells.get((agent, baseline), ()))
        # So few questions may all be of one group, which has no spread.
        shown = both if chosen.options.design != "clustered" else None
        found = _interval(shown, chosen) if shown else None
        yield SettledRow(agent, arm, rep, comparison.ratio, found)


def _interval(both: Pair, chosen: Selection) -> Interval:
    return difference(both.ours, both.theirs, chosen.options, chosen.clusters, test=False).interval


def _parts(runs: Sequence[Run]) -> Iterable[Sequence[Run]]:
    size = max(1, -(-len(runs) // _BINS))
    return (runs[start : start + size] for start in range(0, len(runs), size))


class _Means(NamedTuple):
    """What the runs of each question use on average, with one agent and arm."""

    tokens: Mapping[str, float]
    seconds: Mapping[str, float]


def _question_means(runs: Sequence[Run], quantity: Quantity) -> dict[str, float]:
    return {name: sum(known) / len(known) for name, known in by_question(runs, quantity).items()}


def _bin(cell: Cell, runs: Sequence[Run], means: _Means) -> OrderBin:
    return OrderBin(
        agent=cell[0],
        arm=cell[1],
        first=runs[0].position,
        last=runs[-1].position,
        started_at=min(run.started_at for run in runs),
        runs=len(runs),
        passed=sum(run.passed for run in runs),
        tokens=_mean(runs, tokens),
        seconds=_mean(runs, seconds),
        relative_tokens=_relative(runs, tokens, means.tokens),
        relative_seconds=_relative(runs, seconds, means.seconds),
    )


def _mean(runs: Sequence[Run], quantity: Quantity) -> float:
    known = [value for run in runs if (value := quantity(run)) is not None]
    return sum(known) / len(known) if known and len(known) == len(runs) else nan


def _relative(runs: Sequence[Run], quantity: Quantity, means: Mapping[str, float]) -> float:
    """So that a stretch of dear questions is not taken for drift."""
    known = [
        value / means[run.question]
        for run in runs
        if (value := quantity(run)) is not None and means[run.question] > 0
    ]
    return sum(known) / len(known) if known and len(known) == len(runs) else nan
