"""The two accounts of a run's usage, the agent's and the meter's, as its record holds them.

A record says why they differ. A code of a later version is kept as it is: a reader sees its name at least.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Cause(NamedTuple):
    """One reason for a difference."""

    code: str
    tokens: int | None


class Accounts(NamedTuple):
    """What the meter saw and what the agent reported. None is unknown."""

    metered_calls: bool
    """Whether the meter saw the run at all: else there is nothing to compare."""
    metered_tokens: int | None
    reported_tokens: int | None
    metered_usd: float | None
    reported_usd: float | None
    causes: tuple[Cause, ...]
    explained: bool
    """Whether the causes account for every token of the difference."""
    imputed: bool
    """Whether the agent's own login paid."""


def read_causes(difference: Mapping[str, object]) -> tuple[Cause, ...]:
    """The reasons in a record; what has not the shape of one is left out."""
    causes = difference.get("causes")
    found = []
    for item in causes if isinstance(causes, list | tuple) else ():
        if isinstance(item, Mapping) and isinstance(code := item.get("code"), str):
            tokens = item.get("tokens")
            found.append(Cause(code, tokens if isinstance(tokens, int) else None))
    return tuple(found)


class Difference(NamedTuple):
    """What a record says of why the two accounts differ."""

    causes: tuple[Cause, ...]
    explained: bool


def read_difference(difference: Mapping[str, object]) -> Difference:
    """The reasons in a record, and whether they account for all of it."""
    return Difference(read_causes(difference), difference.get("explained") is True)
