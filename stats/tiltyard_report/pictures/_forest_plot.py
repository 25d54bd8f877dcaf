"""Forest plots: an interval per comparison, on all questions and on the ones that differ most."""

from typing import TYPE_CHECKING

from tiltyard_report.pictures._canvas import FAINT, INK, MUTED, Looks, short, svg_of
from tiltyard_report.pictures.numbers import Forest, ForestRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTIONS = 8
"""Questions drawn for each comparison; the table has all."""
_COMPARISONS = 12
_ROW = 0.24
_EDGE = 8.0
"""A ratio beyond it, or below its inverse, is drawn at the edge."""


def shown(forest: Forest) -> list[ForestRow]:
    """The rows that are drawn: all questions, and the ones with the largest change."""
    groups: dict[tuple[str, str], list[ForestRow]] = {}
    for row in forest.rows:
        groups.setdefault((row.agent, row.arm), []).append(row)
    return [row for rows in list(groups.values())[:_COMPARISONS] for row in rows[: QUESTIONS + 1]]


def forest_plot(forest: Forest, key: str, look: Looks) -> str:
    """The picture."""
    rows = shown(forest)
    several = len({row.agent for row in rows}) > 1

    def paint(figure: "Figure") -> None:
        axes = figure.add_subplot()
        neutral = 1.0 if forest.quantity == "tokens" else 0.0
        axes.axvline(neutral, color=MUTED, linewidth=1)
        for place, row in enumerate(rows):
            _bar(axes, forest, row, place, look[row.arm])
        axes.set_yticks(range(len(rows)), [_label(row, several=several) for row in rows])
        for row, label in zip(rows, axes.get_yticklabels(), strict=True):
            label.set_fontweight("bold" if row.question is None else "normal")
            label.set_color(INK if row.question is None else MUTED)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        _scale(axes, forest)

    return svg_of(paint, key=key, width=7.2, height=0.9 + _ROW * len(rows))


def _label(row: ForestRow, *, several: bool) -> str:
    if row.question is not None:
        return short(row.question)
    return f"{short(row.arm)} with {short(row.agent)}" if several else short(row.arm)


def _bar(axes: "Axes", forest: Forest, row: ForestRow, place: int, look: tuple[str, str]) -> None:
    overall = row.question is None
    if overall and place:
        axes.axhline(place - 0.5, color=FAINT, linewidth=0.8)
    if row.interval is None:
        axes.text(
            0.52, place, row.why, transform=axes.get_yaxis_transform(), va="center", color=MUTED, size=8
        )
        return
    colour, marker = look
    if row.interval.known:
        bounds = [_inside(forest, bound) for bound in (row.interval.low, row.interval.high)]
        axes.plot(bounds, [place, place], color=colour, linewidth=2.6 if overall else 1.2)
    axes.plot(
        [_inside(forest, row.interval.estimate)],
        [place],
        marker=marker,
        color=colour,
        markersize=7 if overall else 4.5,
        markeredgecolor=INK,
        markeredgewidth=0.6,
        linestyle="none",
    )


def _inside(forest: Forest, value: float) -> float:
    return min(max(value, 1 / _EDGE), _EDGE) if forest.quantity == "tokens" else value


def _scale(axes: "Axes", forest: Forest) -> None:
    if forest.quantity == "passes":
        axes.set_xlim(-1.04, 1.04)
        ticks = [-1, -0.5, 0, 0.5, 1]
        axes.set_xticks(ticks, [f"{100 * tick:+.0f}" if tick else "0" for tick in ticks])
        axes.set_xlabel(f"pass rate minus that of {short(forest.baseline)}, points")
        return
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    limits = min(low, 0.45), max(high, 2.2)
    ticks = [tick for tick in (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8) if limits[0] <= tick <= limits[1]]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(*limits)
    axes.set_xlabel(f"tokens, times those of {short(forest.baseline)}")
