"""Which columns of the table of compacted records a report reads: nobody needs to read the others."""

from tiltyard_report._columns import LABELS, USED_COLUMNS

__all__ = ["LABELS", "USED_COLUMNS"]
