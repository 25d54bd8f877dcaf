"""A drawn picture with its words and its table: who cannot see it reads the same."""

from dataclasses import dataclass

from tiltyard_specs.visible import visible


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    """What the table leaves out."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture."""

    key: str
    """Names it in a page."""
    topic: str
    """What it is about, as a heading."""
    title: str
    """What it shows: the finding, no further than the data carry it."""
    description: str
    """How to read it."""
    svg: str
    """An `<svg>` element without title; its content is escaped."""
    grid: Grid
    """The same in numbers."""

    def __post_init__(self) -> None:
        """Keep the words on one line each: names in them are foreign text."""
        for name in ("title", "description"):
            object.__setattr__(self, name, visible(getattr(self, name), one_line=True))
