"""From a matplotlib figure to inline SVG: the same bytes for the same numbers, in the colours of the page.

Colours are drawn as sentinels and become CSS variables, so that a picture follows light and dark mode. All
names that are drawn are foreign text: they are made visible, shortened, and never read as mathematics.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from itertools import cycle
from typing import TYPE_CHECKING, Any

from tiltyard_specs.visible import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, FAINT, PAPER = "#010203", "#040506", "#070809", "#0a0b0c"
SERIES = tuple(f"#0d0e{place:02x}" for place in range(1, 9))
"""One colour per arm; the style sheet has the real ones, which colour-blind people can tell apart."""
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "p")
"""A shape per arm, so that no colour is needed."""
Looks = Mapping[str, tuple[str, str]]
_VARIABLES = {INK: "ink", MUTED: "muted", FAINT: "faint", PAPER: "paper"} | {
    colour: f"s{place}" for place, colour in enumerate(SERIES, 1)
}
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tiltyard",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.frameon": False,
    "path.simplify": True,
}
_TAG = re.compile(r"<[^>]+>")
_FRACTION = re.compile(r"(\d\.\d\d)\d+")
_NAMES = re.compile(r'(\bid="|"#|url\(#)')
_FONT = re.compile(r"font(-family)?: [^;\"]*")
_LONGEST = 28
_SCALE = 1.55
"""Pixels for a point of a picture."""


def svg_of(paint: Callable[["Figure"], None], *, key: str, width: float, height: float) -> str:
    """An `<svg>` element without a size of its own: the page scales it.

    Args:
        paint: Draws into an empty figure.
        key: Begins every id in it, so that several pictures can stand on one page.
        width: Of the figure, in inches.
        height: Likewise.
    """
    import matplotlib as mpl  # noqa: PLC0415 - half a second that only pictures need
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    target = StringIO()
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # A name may hold letters that the font used for measuring lacks; the browser has its own fonts.
        warnings.simplefilter("ignore", UserWarning)
        figure = Figure(figsize=(width, height))
        FigureCanvasSVG(figure)
        paint(figure)
        figure.savefig(target, format="svg", bbox_inches="tight", pad_inches=0.06, metadata=_NO_METADATA)
    return _inline(target.getvalue(), key)


_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def short(name: str, limit: int = _LONGEST) -> str:
    """A name as a picture can show it."""
    text = visible(name, one_line=True)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def looks(arms: Sequence[str]) -> Looks:
    """A colour and a marker for each arm: the same in all pictures of a report."""
    return dict(zip(arms, cycle(zip(SERIES, MARKERS, strict=True)), strict=False))


def _inline(text: str, key: str) -> str:
    body = text[text.index("<svg") :]
    body = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', _opening, body, count=1)
    body = _TAG.sub(lambda tag: _tag(tag[0], key), body)
    return re.sub(r"\s*\n\s*", "\n", body).strip()


def _opening(match: re.Match[str]) -> str:
    """As wide as the page lets it be, but no wider than its letters are easy to read."""
    width = float(match[1].split()[2])
    return f'<svg viewBox="{match[1]}" style="max-width: {_SCALE * width:.0f}px">'


def _tag(tag: str, key: str) -> str:
    for sentinel, name in _VARIABLES.items():
        tag = tag.replace(sentinel, f"var(--{name})")
    tag = tag.replace("xlink:href", "href")
    tag = _FONT.sub(_font, tag)
    return _FRACTION.sub(r"\1", _NAMES.sub(rf"\g<1>{key}-", tag))


def _font(match: re.Match[str]) -> str:
    """The size alone; the family is the page's."""
    size = re.search(r"[\d.]+px", match[0])
    return f"font-size: {size[0]}" if size else "font-family: inherit"
