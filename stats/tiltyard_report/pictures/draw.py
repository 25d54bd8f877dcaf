"""All pictures of a report, in the order in which one looks at them."""

from collections.abc import Callable, Iterator, Sequence
from math import isnan

from tiltyard_report import _format as fmt
from tiltyard_report.model import Report
from tiltyard_report.pictures import _forest_plot, _heatmap, findings
from tiltyard_report.pictures._canvas import Looks, looks
from tiltyard_report.pictures._curve_plot import curve_plot
from tiltyard_report.pictures._forest_plot import forest_plot
from tiltyard_report.pictures._heatmap import heatmap
from tiltyard_report.pictures._time_plots import clock, course_plot, settled_plot
from tiltyard_report.pictures._trade_plot import trade_plot
from tiltyard_report.pictures.numbers import Course, Curve, Forest, HeatCell, Numbers, Settled, Trade
from tiltyard_report.pictures.picture import Grid, Picture
from tiltyard_stats import Interval, RepeatRate

ROWS = 200
"""Rows of a table beside a picture; more nobody reads there."""
_LEVEL = "Bars are {level}% intervals"


def draw(numbers: Numbers, report: Report) -> tuple[Picture, ...]:
    """Every picture that the data support; the same numbers give the same bytes."""
    return tuple(_pictures(numbers, report))


def _pictures(numbers: Numbers, report: Report) -> Iterator[Picture]:
    bars = _LEVEL.format(level=fmt.level(report.confidence))
    look = looks(list(dict.fromkeys(row.arm for agent in report.agents for row in agent.arms)))
    for forest in numbers.forests:
        if any(row.interval for row in forest.rows):
            yield _forest(forest, report, bars, look)
    if numbers.cells:
        yield _heat(numbers.cells)
    if any(len(curve.at) > 1 for curve in numbers.curves):
        yield _repeats(numbers.curves, fmt.level(report.confidence), look)
    if numbers.trade is not None and len(numbers.trade.points) > 1:
        yield _trade(numbers.trade, bars, look)
    if numbers.settled and report.baseline:
        yield _settled(numbers.settled, report.baseline, bars, look)
    if numbers.course is not None:
        yield _course(numbers.course, look)


def _forest(forest: Forest, report: Report, bars: str, look: Looks) -> Picture:
    tokens = forest.quantity == "tokens"
    show: Callable[[Interval], str] = findings.factor_with_bounds if tokens else findings.difference
    rows = [
        (row.agent, row.arm, row.question or "all questions", show(row.interval) if row.interval else row.why)
        for row in forest.rows
    ]
    key = f"forest-{forest.quantity}"
    fewer = len(_forest_plot.shown(forest)) < len(forest.rows)
    return Picture(
        key,
        "Relative tokens" if tokens else "Difference in pass rate",
        (findings.tokens_title(report) if tokens else findings.passes_title(forest)) + findings.moved(forest),
        f"{bars}, each for one comparison; thick: all questions together"
        + ("; the questions with the largest change are drawn, the table has more." if fewer else ".")
        + (
            " Of so many questions the largest changes are mostly chance: each is a lead."
            if forest.moved
            else ""
        )
        + f" Left of the line: {'cheaper' if tokens else 'passes less often'} than {forest.baseline}.",
        forest_plot(forest, key, look),
        _grid(("agent", "arm", "question", "times" if tokens else "points"), rows),
    )


def _heat(cells: tuple[HeatCell, ...]) -> Picture:
    rows = [
        (
            cell.question,
            cell.agent,
            cell.arm,
            f"{cell.passes}/{cell.n}",
            fmt.significant(cell.score),
            "flaky" if cell.flaky else "steady" if cell.n > 1 else fmt.NONE,
        )
        for cell in cells
    ]
    fewer = len(_heatmap.shown(cells)) < len({cell.question for cell in cells})
    return Picture(
        "heatmap",
        "Every question with every arm",
        findings.heat_title(cells),
        "Label: passes of attempts. Colour: mean score, dark is 0 and light is 1. Dashed: flaky, its "
        "attempts ended differently."
        + (" Of many questions those are drawn on which something differs." if fewer else ""),
        heatmap(cells, "heatmap"),
        _grid(("question", "agent", "arm", "passed", "mean score", "steadiness"), rows),
    )


def _repeats(curves: tuple[Curve, ...], level: str, look: Looks) -> Picture:
    rows = [
        (curve.agent, curve.arm, str(at.k), _rate(at), _rate(hat))
        for curve in curves
        for at, hat in zip(curve.at, curve.hat, strict=True)
    ]
    return Picture(
        "repeats",
        "Repeated attempts",
        findings.curves_title(curves),
        f"Solid: pass@k, at least one of k attempts passes. Dashed: pass^k, all k pass. Bars are {level}% "
        "intervals over questions like these.",
        curve_plot(curves, "repeats", look),
        _grid(("agent", "arm", "k", "pass@k", "pass^k"), rows),
    )


def _trade(trade: Trade, bars: str, look: Looks) -> Picture:
    show = fmt.dollars if trade.unit == "USD" else fmt.thousands
    rows = [
        (
            point.agent,
            point.arm,
            _bounded(point.cost, show),
            _rate(point.rate),
            "yes" if point.frontier else "no",
            fmt.NONE if isnan(point.probability) else f"{fmt.percent(point.probability)}%",
        )
        for point in trade.points
    ]
    left = (
        f" Left out, as their cost is not fully known: {fmt.listed(trade.left_out)}."
        if trade.left_out
        else ""
    )
    return Picture(
        "trade",
        "Cost against pass rate",
        findings.trade_title(trade),
        f"Large, with an edge: on the frontier, no arm of the same agent passes as often for less. {bars}."
        f"{_sure(trade)}{left}",
        trade_plot(trade, "trade", look),
        _grid(
            ("agent", "arm", f"{trade.unit} a run", "pass rate", "on the frontier", _resampled(trade)),
            rows,
        ),
    )


_AXES = {"usd": "USD"}


def _sure(trade: Trade) -> str:
    """What the fill of a mark says."""
    if all(isnan(point.probability) for point in trade.points):
        return ""
    axes = max((point.axes for point in trade.points), key=len)
    return (
        " The fuller a mark, the more often it is on the frontier when repetitions are drawn anew, in "
        f"{fmt.listed([_AXES.get(name, name) for name in axes], len(axes))}."
    )


def _resampled(trade: Trade) -> str:
    axes = max((point.axes for point in trade.points), key=len)
    names = ", ".join(_AXES.get(name, name) for name in axes)
    return f"in resamples ({names})" if axes else "in resamples"


def _settled(settled: tuple[Settled, ...], baseline: str, bars: str, look: Looks) -> Picture:
    rows = [
        (line.agent, line.arm, str(rep), findings.factor_with_bounds(ratio))
        for line in settled
        for rep, ratio in line.after
    ]
    return Picture(
        "settled",
        "How it settled",
        findings.settled_title(settled),
        f"Relative tokens over the repetitions so far. {bars} for a single look: stopping at the first that "
        "leaves 1 out would find differences that are not there.",
        settled_plot(settled, baseline, "settled", look),
        _grid(("agent", "arm", "repetitions", f"times {baseline}"), rows),
    )


def _course(course: Course, look: Looks) -> Picture:
    show = _kilo if course.quantity == "tokens" else fmt.significant
    rows = [
        (
            part.agent,
            part.arm,
            f"{part.first} to {part.last}",
            clock(part.started_at) or fmt.NONE,
            fmt.amount(part.amount, show),
            fmt.amount(part.relative, lambda value: f"{value:.2f}x"),
            f"{part.passed}/{part.runs}",
        )
        for part in course.stretches
    ]
    return Picture(
        "course",
        "Order and time",
        findings.course_title(course),
        f"{course.quantity.capitalize()} of a run over the mean of its question with the same arm, stretch "
        "by stretch in the order of the trial: at 1 nothing changes with time, whatever question and arm. "
        "Dashed: the trend over all arms.",
        course_plot(course, "course", look),
        _grid(
            ("agent", "arm", "place in the order", "from (UTC)", course.quantity, "times its mean", "passed"),
            rows,
        ),
    )


def _kilo(value: float) -> str:
    return f"{fmt.thousands(value)}k"


def _grid(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Grid:
    left_out = len(rows) - ROWS
    return Grid(head, tuple(rows[:ROWS]), f"{left_out:,} more rows are in the CSV." if left_out > 0 else "")


def _rate(rate: Interval | RepeatRate) -> str:
    return _bounded(rate, fmt.percent, "%")


def _bounded(item: Interval, show: Callable[[float], str], unit: str = "") -> str:
    bounds = f"{show(item.low)} to {show(item.high)}" if item.known else fmt.unknown_bounds(item)
    return f"{show(item.estimate)}{unit} ({bounds})"
