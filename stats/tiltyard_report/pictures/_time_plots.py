"""Two pictures of time: how the comparison settled over repetitions, and the trial in its order."""

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from tiltyard_report.group_model import DriftRow
from tiltyard_report.pictures._canvas import FAINT, INK, MUTED, Looks, short, svg_of
from tiltyard_report.pictures.numbers import Course, Settled, Stretch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = 8
"""Comparisons drawn with an agent; the table has all."""
_PANELS = 4


def settled_plot(settled: Sequence[Settled], baseline: str, key: str, look: Looks) -> str:
    """The cumulative interval after each repetition: a panel per agent."""
    agents = list(dict.fromkeys(line.agent for line in settled))[:_PANELS]

    def paint(figure: "Figure") -> None:
        panels = figure.subplots(1, len(agents), sharey=True, squeeze=False)[0]
        for axes, agent in zip(panels, agents, strict=True):
            own = [line for line in settled if line.agent == agent][:_LINES]
            axes.axhline(1, color=MUTED, linewidth=1)
            for place, line in enumerate(own):
                _line(axes, line, look[line.arm], 0.08 * (place - (len(own) - 1) / 2))
            if len(agents) > 1:
                axes.set_title(short(agent), size=9)
            axes.set_xlabel("repetitions so far")
        _doublings(panels[0])
        panels[0].set_ylabel(f"tokens, times {short(baseline, 18)}")
        _legend(panels)

    return svg_of(paint, key=key, width=2.4 + 2.7 * len(agents), height=2.9)


def _line(axes: "Axes", line: Settled, look: tuple[str, str], shift: float) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - loaded only where pictures are drawn

    colour, marker = look
    xs = [rep + shift for rep, _ in line.after]
    for x, (_, ratio) in zip(xs, line.after, strict=True):
        if ratio.known:
            bounds = [min(max(bound, 0.1), 10) for bound in (ratio.low, ratio.high)]
            axes.plot([x, x], bounds, color=colour, linewidth=1.1)
    values = [ratio.estimate for _, ratio in line.after]
    name = short(line.arm, 18)
    axes.plot(xs, values, color=colour, marker=marker, markersize=4.5, linewidth=0.8, label=name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _doublings(axes: "Axes") -> None:
    """The scale of ratios, which all panels share."""
    axes.set_yscale("log", base=2)
    low, high = axes.get_ylim()
    ticks = [tick for tick in (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8) if min(low, 0.5) <= tick <= max(high, 2)]
    axes.set_yticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.set_ylim(min(low, 0.45), max(high, 2.2))
    axes.minorticks_off()


def _legend(panels: Sequence["Axes"]) -> None:
    """Every arm once, whichever panel it stands in."""
    found = {
        name: handle
        for axes in panels
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    panels[-1].legend(found.values(), found.keys(), loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)


def course_plot(course: Course, key: str, look: Looks) -> str:
    """Each stretch over what its runs use on average: a panel per agent, a line per arm, and the trend."""
    agents = list(dict.fromkeys(part.agent for part in course.stretches))[:_PANELS]

    def paint(figure: "Figure") -> None:
        panels = figure.subplots(1, len(agents), sharey=True, squeeze=False)[0]
        for axes, agent in zip(panels, agents, strict=True):
            own = [part for part in course.stretches if part.agent == agent]
            axes.axhline(1, color=MUTED, linewidth=1)
            for arm in dict.fromkeys(part.arm for part in own):
                _stretches(axes, [part for part in own if part.arm == arm], look[arm])
            _trend(axes, own, [row for row in course.drift if row.agent == agent])
            if len(agents) > 1:
                axes.set_title(short(agent), size=9)
            _order(axes, own)
        panels[0].set_ylabel(f"{course.quantity}, times their mean")
        panels[0].yaxis.set_major_formatter(lambda value, _: f"{value:.2g}x")
        low, high = panels[0].get_ylim()
        panels[0].set_ylim(min(low, 0.5), max(high, 1.5))
        _legend(panels)

    return svg_of(paint, key=key, width=2.4 + 2.7 * len(agents), height=2.8)


def _trend(axes: "Axes", own: Sequence[Stretch], drift: Sequence[DriftRow]) -> None:
    """The change that the report tests, through the middle of the trial."""
    change = next(
        (row.change.estimate for row in drift if row.quantity != "passes" and row.change.known), None
    )
    if change is None or change <= 0:
        return
    ends = [min(part.first for part in own), max(part.last for part in own)]
    axes.plot(
        ends, [change**-0.5, change**0.5], color=INK, linewidth=1.4, linestyle=(0, (4, 2)), label="trend"
    )


def _stretches(axes: "Axes", own: Sequence[Stretch], look: tuple[str, str]) -> None:
    colour, marker = look
    known = [part for part in own if not isnan(part.relative)]
    for part in known:
        axes.plot([part.first, part.last], [part.relative] * 2, color=colour, linewidth=2.2)
    axes.plot(
        [(part.first + part.last) / 2 for part in known],
        [part.relative for part in known],
        color=colour,
        marker=marker,
        markersize=4.5,
        linewidth=0.8,
        label=short(own[0].arm, 18) if own else None,
    )


def _order(axes: "Axes", own: Sequence[Stretch]) -> None:
    """Places in the order, with the time of day where the stretch began."""
    begins = sorted({part.first: part.started_at for part in own}.items())
    ticks = begins[:: max(1, -(-len(begins) // 4))]
    axes.set_xticks([place for place, _ in ticks], [f"{place}\n{clock(at)}" for place, at in ticks])
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlabel("place in the order, time (UTC)")


def clock(started_at: str) -> str:
    """The time of day of a timestamp, or nothing."""
    _, found, time = started_at.partition("T")
    return time[:5] if found and time[:2].isdigit() else ""
