"""Pass rates against attempts: pass@k goes up, pass^k goes down, and the gap is how unsteady an arm is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiltyard_report.pictures._canvas import MUTED, Looks, short, svg_of
from tiltyard_report.pictures.numbers import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = 4
"""Agents drawn; the table has all."""
_APART = 0.07
"""Attempts between two arms."""


def curve_plot(curves: Sequence[Curve], key: str, look: Looks) -> str:
    """The picture: a panel per agent."""
    agents = list(dict.fromkeys(curve.agent for curve in curves))[:_PANELS]

    def paint(figure: "Figure") -> None:
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - loaded only where pictures are drawn

        panels = figure.subplots(1, len(agents), sharey=True, squeeze=False)[0]
        for axes, agent in zip(panels, agents, strict=True):
            own = [curve for curve in curves if curve.agent == agent]
            for place, curve in enumerate(own):
                _lines(axes, curve, look[curve.arm], _APART * (place - (len(own) - 1) / 2))
            if len(agents) > 1:
                axes.set_title(short(agent), size=9)
            axes.set_ylim(-0.03, 1.03)
            axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlabel("attempts k")
            axes.grid(axis="y", color=MUTED, alpha=0.25, linewidth=0.6)
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)

    return svg_of(paint, key=key, width=2.4 + 2.3 * len(agents), height=2.7)


def _lines(axes: "Axes", curve: Curve, look: tuple[str, str], shift: float) -> None:
    """Arms stand a little beside each other, so that their bars can be told apart."""
    colour, marker = look
    for rates, style, name in ((curve.at, "-", "pass@k"), (curve.hat, "--", "pass^k")):
        xs, label = [rate.k + shift for rate in rates], f"{short(curve.arm, 18)} {name}"
        axes.plot(
            xs, [r.estimate for r in rates], style, color=colour, marker=marker, markersize=4, label=label
        )
        for x, rate in zip(xs, rates, strict=True):
            if rate.known:
                axes.plot([x, x], [rate.low, rate.high], color=colour, linewidth=0.9, alpha=0.55)
