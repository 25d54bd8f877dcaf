"""The part of a report that sets an agent's own account of its usage beside the meter's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CauseRow:
    """One reason why an agent's account differs from the meter's."""

    code: str
    """As records hold it."""
    words: str
    runs: int
    """Runs in which it occurs."""
    tokens: int
    """Of the difference; 0 where it accounts for none in particular."""


@dataclass(frozen=True, slots=True)
class ReportedRow:
    """What an agent reported of its usage, and what the meter saw."""

    agent: str
    runs: int
    """With metered calls."""
    compared: int
    """Runs among them of which both totals are fully known; the sums are over these."""
    agreed: int
    """Runs among those in which the totals are the same."""
    unexplained: int
    """Runs among those in which they are not, and no reason accounts for all of it."""
    reported_tokens: int
    metered_tokens: int
    priced: int
    """Runs of which both costs are known."""
    reported_usd: float
    metered_usd: float
    causes: tuple[CauseRow, ...]
