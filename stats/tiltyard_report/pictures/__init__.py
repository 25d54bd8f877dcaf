"""Pictures of a report as inline SVG; each has a title that states its finding, and the same as a table.

`picture_numbers` computes what they show, `draw` lays it out; matplotlib is loaded by `draw` alone.
"""

from tiltyard_report.pictures.compute import picture_numbers
from tiltyard_report.pictures.draw import draw
from tiltyard_report.pictures.numbers import Numbers
from tiltyard_report.pictures.picture import Grid, Picture

__all__ = ["Grid", "Numbers", "Picture", "draw", "picture_numbers"]
