"""The heatmap: every question with every arm. Colour is the mean score, the label is passes of attempts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiltyard_report.pictures._canvas import short, svg_of
from tiltyard_report.pictures.numbers import HeatCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELLS = 400
"""Cells drawn at most; the table has more."""
_WIDE = 13
"""Letters that stand over a column without being turned."""
_BRIGHT = 0.18
"""Relative luminance above which black is easier to read than white."""


def shown(cells: Sequence[HeatCell]) -> list[str]:
    """The questions that are drawn: all, or of many the ones on which something differs."""
    rows: dict[str, list[HeatCell]] = {}
    for cell in cells:
        rows.setdefault(cell.question, []).append(cell)
    columns = len({(cell.agent, cell.arm) for cell in cells})
    most = max(1, _CELLS // columns)
    if len(rows) <= most:
        return list(rows)
    telling = sorted(rows, key=lambda name: -_spread(rows[name]))[:most]
    return [name for name in rows if name in set(telling)]


def _spread(cells: Sequence[HeatCell]) -> float:
    rates = [cell.passes / cell.n for cell in cells]
    return max(rates) - min(rates) + sum(cell.flaky for cell in cells) / len(cells)


def heatmap(cells: Sequence[HeatCell], key: str) -> str:
    """The picture."""
    questions = shown(cells)
    columns = list(dict.fromkeys((cell.agent, cell.arm) for cell in cells))
    agents = len({agent for agent, _ in columns})
    drawn = set(questions)

    def paint(figure: "Figure") -> None:
        from matplotlib import colormaps  # noqa: PLC0415 - loaded only where pictures are drawn

        axes = figure.add_subplot()
        colour = colormaps["cividis"]
        for cell in cells:
            if cell.question in drawn:
                _cell(
                    axes,
                    columns.index((cell.agent, cell.arm)),
                    questions.index(cell.question),
                    cell,
                    colour(0.08 + 0.92 * cell.score),
                )
        names = [
            f"{short(arm, 18)}\n{short(agent, 18)}" if agents > 1 else short(arm, 18)
            for agent, arm in columns
        ]
        axes.set_xticks(range(len(columns)), names, **_turned(names))
        axes.set_yticks(range(len(questions)), [short(name) for name in questions])
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(questions) - 0.5, -0.5)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)

    width = max(3.2, 1.8 + 0.95 * len(columns))
    return svg_of(paint, key=key, width=min(width, 11.0), height=0.8 + 0.27 * len(questions))


def _turned(names: Sequence[str]) -> dict[str, Any]:
    """Long names over narrow columns would run into each other."""
    longest = max(len(line) for name in names for line in name.split("\n"))
    return {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if longest > _WIDE else {}


def _cell(axes: "Axes", x: int, y: int, cell: HeatCell, colour: tuple[float, ...]) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    bright = _luminance(colour) > _BRIGHT
    axes.add_patch(Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, facecolor=colour[:3], edgecolor="none"))
    if cell.flaky:
        axes.add_patch(
            Rectangle(
                (x - 0.42, y - 0.36),
                0.84,
                0.72,
                fill=False,
                edgecolor="#000000" if bright else "#ffffff",
                linestyle=(0, (3, 2)),
                linewidth=1.1,
            )
        )
    label = f"{cell.passes}/{cell.n}"
    axes.text(x, y, label, ha="center", va="center", size=8, color="#000000" if bright else "#ffffff")


def _luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance as WCAG defines it."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour[:3]]  # noqa: PLR2004
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
