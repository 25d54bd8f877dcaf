"""Readers of row files and of other tools' files."""

from tiltyard_formats.rows import Row, read_rows, row_records

__all__ = ["Row", "read_rows", "row_records"]
