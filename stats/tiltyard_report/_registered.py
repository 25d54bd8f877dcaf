"""Whether the trial was judged by the rule that stood before it began."""

from collections.abc import Iterable

from tiltyard_report._receipt import Facts

_NAMED = 6
_SHOWN = 12
"""Digits of a hash that are told; the receipt holds all of them."""


def alert(facts: Facts) -> Iterable[str]:
    """What of the spec was changed after the first start."""
    if facts.amended:
        more = len(facts.amended) - _NAMED
        parts = ", ".join(facts.amended[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        yield f"AMENDED: the spec is not what it was when the trial was first started: {parts}."


def note(facts: Facts) -> Iterable[str]:
    """Which registration holds."""
    if facts.registered is None:
        return
    at_first = f"at the first start (pre-registration hash {facts.registered[:_SHOWN]})"
    if facts.amended:
        yield f"The spec is not what it was {at_first}; trial.json lists every change."
    elif facts.restored:
        yield f"The spec is what it was {at_first}; in between it was changed, and changed back."
    else:
        yield f"The spec is what it was {at_first}."
