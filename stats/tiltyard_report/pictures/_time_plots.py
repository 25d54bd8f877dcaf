"""Two pictures of time: how the comparison settled over repetitions, and the trial in its order."""

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from tiltyard_report.pictures._canvas import FAINT, MUTED, colours, short, svg_of
from tiltyard_report.pictures.numbers import Course, Settled, Stretch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = 8
"""Comparisons drawn; the table has all."""
_PANELS = 4


def settled_plot(settled: Sequence[Settled], baseline: str, key: str) -> str:
    """The cumulative interval after each repetition."""
    lines = settled[:_LINES]
    several = len({line.agent for line in settled}) > 1
    looks = colours(len(lines))

    def paint(figure: "Figure") -> None:
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - loaded only where pictures are drawn

        axes = figure.add_subplot()
        axes.axhline(1, color=MUTED, linewidth=1)
        for place, (line, (colour, marker)) in enumerate(zip(lines, looks, strict=True)):
            shift = 0.08 * (place - (len(lines) - 1) / 2)
            name = f"{short(line.arm, 18)} with {short(line.agent, 18)}" if several else short(line.arm)
            xs = [rep + shift for rep, _ in line.after]
            for x, (_, ratio) in zip(xs, line.after, strict=True):
                if ratio.known:
                    bounds = [min(max(bound, 0.1), 10) for bound in (ratio.low, ratio.high)]
                    axes.plot([x, x], bounds, color=colour, linewidth=1.1)
            values = [ratio.estimate for _, ratio in line.after]
            axes.plot(xs, values, color=colour, marker=marker, markersize=4.5, linewidth=0.8, label=name)
        axes.set_yscale("log", base=2)
        low, high = axes.get_ylim()
        ticks = [tick for tick in (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8) if min(low, 0.5) <= tick <= max(high, 2)]
        axes.set_yticks(ticks, [f"{tick:g}x" for tick in ticks])
        axes.set_ylim(min(low, 0.45), max(high, 2.2))
        axes.minorticks_off()
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("repetitions so far")
        axes.set_ylabel(f"tokens, times {short(baseline, 18)}")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)

    return svg_of(paint, key=key, width=6.4, height=2.9)


def course_plot(course: Course, key: str) -> str:
    """Each stretch over what its runs use on average: a panel per agent, a line per arm."""
    agents = list(dict.fromkeys(part.agent for part in course.stretches))[:_PANELS]
    arms = list(dict.fromkeys(part.arm for part in course.stretches))
    look = dict(zip(arms, colours(len(arms)), strict=True))

    def paint(figure: "Figure") -> None:
        panels = figure.subplots(1, len(agents), sharey=True, squeeze=False)[0]
        for axes, agent in zip(panels, agents, strict=True):
            axes.axhline(1, color=MUTED, linewidth=1)
            for arm in arms:
                own = [part for part in course.stretches if (part.agent, part.arm) == (agent, arm)]
                _stretches(axes, own, look[arm])
            if len(agents) > 1:
                axes.set_title(short(agent), size=9)
            _order(axes, [part for part in course.stretches if part.agent == agent])
        panels[0].set_ylabel(f"{course.quantity}, times their mean")
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)

    return svg_of(paint, key=key, width=2.4 + 2.7 * len(agents), height=2.8)


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
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlabel("place in the order, time (UTC)")


def clock(started_at: str) -> str:
    """The time of day of a timestamp, or nothing."""
    _, found, time = started_at.partition("T")
    return time[:5] if found and time[:2].isdigit() else ""
