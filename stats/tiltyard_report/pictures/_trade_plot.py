"""Cost against pass rate: crosses of uncertainty, and the frontier that no other arm of an agent beats."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiltyard_report._format import thousands
from tiltyard_report.pictures._canvas import INK, MUTED, colours, short, svg_of
from tiltyard_report.pictures.numbers import CostPoint, Trade

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = 4


def trade_plot(trade: Trade, key: str) -> str:
    """The picture: a panel per agent, since agents are not comparable in tokens."""
    agents = list(dict.fromkeys(point.agent for point in trade.points))[:_PANELS]
    arms = list(dict.fromkeys(point.arm for point in trade.points))
    look = dict(zip(arms, colours(len(arms)), strict=True))

    def paint(figure: "Figure") -> None:
        panels = figure.subplots(1, len(agents), sharey=True, squeeze=False)[0]
        for axes, agent in zip(panels, agents, strict=True):
            own = [point for point in trade.points if point.agent == agent]
            for point in own:
                _cross(axes, point, look[point.arm])
            _frontier(axes, own)
            if len(agents) > 1:
                axes.set_title(short(agent), size=9)
            _scales(axes, trade)
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)

    return svg_of(paint, key=key, width=2.4 + 2.5 * len(agents), height=2.9)


def _cross(axes: "Axes", point: CostPoint, look: tuple[str, str]) -> None:
    colour, marker = look
    x, y = point.cost.estimate, point.rate.estimate
    if point.cost.known:
        axes.plot([point.cost.low, point.cost.high], [y, y], color=colour, linewidth=1.2)
    axes.plot([x, x], [point.rate.low, point.rate.high], color=colour, linewidth=1.2)
    axes.plot(
        [x],
        [y],
        linestyle="none",
        marker=marker,
        markersize=8 if point.frontier else 6,
        markerfacecolor=colour if point.frontier else "none",
        markeredgecolor=INK if point.frontier else colour,
        label=short(point.arm, 18),
    )


def _frontier(axes: "Axes", points: Sequence[CostPoint]) -> None:
    """A staircase: between two arms nothing is known to be possible."""
    edge = sorted((point.cost.estimate, point.rate.estimate) for point in points if point.frontier)
    if len(edge) > 1:
        axes.step(
            [x for x, _ in edge], [y for _, y in edge], where="post", color=MUTED, linestyle=":", linewidth=1
        )


def _scales(axes: "Axes", trade: Trade) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    axes.set_xlim(left=0)
    axes.locator_params(axis="x", nbins=4)
    in_usd = trade.unit == "USD"
    axes.xaxis.set_major_formatter(lambda value, _: f"${value:.3g}" if in_usd else thousands(value))
    axes.set_xlabel("USD a run" if in_usd else "tokens a run, thousands")
    axes.set_ylabel("pass rate")
    axes.label_outer()
