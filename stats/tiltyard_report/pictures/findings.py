"""The titles of pictures: each states what is to be seen, and claims no more than the report does."""

from math import isnan

from tiltyard_report import _format as fmt
from tiltyard_report._trend import words
from tiltyard_report._verdicts import comparisons
from tiltyard_report.model import Report
from tiltyard_report.pictures.numbers import Course, Curve, Forest, HeatCell, Settled, Trade
from tiltyard_stats import Interval


def tokens_title(report: Report) -> str:
    """The verdicts of the report, in its words."""
    said = []
    for item in comparisons(report.agents):
        ratio = item.comparison.ratio
        if ratio is None:
            continue
        name = f"{item.row.arm} with {item.agent.agent}"
        said.append(f"{name}: {factor_with_bounds(ratio)}, {item.verdict}")
    if not said:
        return "Tokens cannot be compared"
    return _listed(said)


def moved(forest: Forest) -> str:
    """Of many questions how many moved which way, with the first comparison: those drawn are its extremes."""
    if not forest.moved:
        return ""
    item = forest.moved[0]
    up, down = ("dearer", "cheaper") if forest.quantity == "tokens" else ("pass more often", "less often")
    return f"; of {item.questions:,} questions {item.up:,} {up}, {item.down:,} {down} with {item.arm}"


def _listed(said: list[str]) -> str:
    more = f"; and {len(said) - 3} more" if len(said) > 3 else ""  # noqa: PLR2004 - a title, not a table
    return "; ".join(said[:3]) + more


def passes_title(forest: Forest) -> str:
    """The verdicts of the report on pass rates, in its words."""
    said = [
        f"{row.arm} with {row.agent}: {difference(row.interval)} points, {row.verdict or 'no verdict'}"
        for row in forest.rows
        if row.question is None and row.interval
    ]
    return _listed(said) if said else "Pass rates cannot be compared"


def heat_title(cells: tuple[HeatCell, ...]) -> str:
    """How many cells are steady."""
    flaky = sum(cell.flaky for cell in cells)
    always = sum(cell.passes == cell.n for cell in cells)
    never = sum(cell.passes == 0 for cell in cells)
    return (
        f"Of {fmt.plural(len(cells), 'cell')}, {always} always passed, {never} never did "
        f"and {flaky} {'was' if flaky == 1 else 'were'} flaky"
    )


def curves_title(curves: tuple[Curve, ...]) -> str:
    """How far k attempts help or hurt, for the arm where they do most."""
    longest = [curve for curve in curves if len(curve.at) > 1]
    if not longest:
        return "One attempt per question: nothing is known about further ones"
    widest = max(longest, key=lambda curve: curve.at[-1].estimate - curve.hat[-1].estimate)
    at, hat = widest.at[-1], widest.hat[-1]
    if at.estimate == hat.estimate:
        return "Every question ends alike at each attempt, with every arm"
    return (
        f"{widest.arm} with {widest.agent}: {fmt.percent(at.estimate)}% pass at least once in {at.k} "
        f"attempts, {fmt.percent(hat.estimate)}% every time"
    )


def trade_title(trade: Trade) -> str:
    """Who is on the frontier."""
    several = len({point.agent for point in trade.points}) > 1
    on = [
        f"{point.arm} with {point.agent}" if several else point.arm
        for point in trade.points
        if point.frontier
    ]
    verb = "is" if len(on) == 1 else "are"
    return f"{fmt.listed(on, 4)} {verb} on the frontier: no arm of the same agent passes as often for less"


def settled_title(settled: tuple[Settled, ...]) -> str:
    """Where the estimates ended and what the last repetition changed."""
    widest = max(settled, key=lambda line: abs(_step(line)))
    step = _step(widest)
    last = widest.after[-1]
    return (
        f"The last repetition moved no estimate by more than {100 * abs(step):.0f}%: "
        f"{widest.arm} with {widest.agent} is at {factor_with_bounds(last[1])} "
        f"after {fmt.plural(last[0], 'repetition')}"
    )


def _step(line: Settled) -> float:
    before, last = line.after[-2][1].estimate, line.after[-1][1].estimate
    return last / before - 1 if before else 0.0


def course_title(course: Course) -> str:
    """Whether anything drifted: the finding of the report's test, never a look at two points."""
    found = [row for row in course.drift if row.drifted]
    if found:
        return " ".join(words(row, course.arms) for row in found)
    tested = [row for row in course.drift if not isnan(row.adjusted)]
    if not tested:
        return "Too few runs of a question to see drift"
    nearest = min(tested, key=lambda row: row.adjusted)
    return (
        f"No drift is seen. Nearest to it: {words(nearest, course.arms).removesuffix(': no drift is seen.')}"
    )


def factor_with_bounds(ratio: Interval) -> str:
    """A ratio with its interval."""
    return f"{fmt.factor(ratio.estimate)}x ({fmt.factor_bounds(ratio)})"


def difference(diff: Interval) -> str:
    """A difference of rates in points, signed, with its interval."""
    shown = [_whole(value) for value in (diff.estimate, diff.low, diff.high) if value == value]  # noqa: PLR0124
    estimate = shown[0]
    return (
        f"{estimate} ({shown[1]} to {shown[2]})" if diff.known else f"{estimate} ({fmt.unknown_bounds(diff)})"
    )


def _whole(share: float) -> str:
    text = f"{100 * share:+.0f}"
    return "0" if float(text) == 0 else text
