"""Cost against pass rate: crosses of uncertainty, and the frontier that no other arm of an agent beats."""

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from tiltyard_report._format import thousands
from tiltyard_report.pictures._canvas import INK, MUTED, Looks, short, svg_of
from tiltyard_report.pictures.numbers import CostPoint, Trade

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = 4


def trade_plot(trade: Trade, key: str, look: Looks) -> str:
    """The picture: a panel per agent, since agents are not comparable in tokens."""
    agents = list(dict.fromkeys(point.agent for point in trade.points))[:_PANELS]

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
    """A mark that is the fuller the surer its place on the frontier is."""
    from matplotlib.colors import to_rgba  # noqa: PLC0415 - loaded only where pictures are drawn

    colour, marker = look
    sure = float(point.frontier) if isnan(point.probability) else point.probability
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
        markerfacecolor=to_rgba(colour, sure),
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
    axes.xaxis.set_major_formatter(lambda value, _: _dollars(value) if in_usd else thousands(value))
    axes.set_xlabel("USD a run" if in_usd else "tokens a run, thousands")
    axes.set_ylabel("pass rate")
    axes.label_outer()


def _dollars(value: float) -> str:
    """A tick: whole cents, or as many digits as it needs below."""
    return f"${value:.2f}" if round(value, 2) == round(value, 6) else f"${value:.3g}"
