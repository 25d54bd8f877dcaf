"""Cuts texts to a bound and no key in two: half a key is not known as one any more, and is half a key.

Masks come last (`redaction`), so what is bounded before is cut where no key stands.
"""

from collections.abc import Callable

Mask = Callable[[str], tuple[str, int]]

AROUND = 24 * 1024
"""Characters on each side of a cut that are looked at: more than a private key has."""
_STEPS = (0, *(32 << n for n in range(10)))
"""How far a cut moves to spare a key."""


def beginning(text: str, longest: int, mask: Mask) -> str:
    """At most the first `longest` characters; a key that the bound would part is left out."""
    if len(text) <= longest:
        return text
    for step in _STEPS:
        if step < longest and _parts_nothing(text, longest - step, mask):
            return text[: longest - step]
    return ""


def ending(text: str, longest: int, mask: Mask) -> str:
    """At most the last `longest` characters; a key that the bound would part is left out."""
    first = len(text) - longest
    if first <= 0:
        return text
    for step in _STEPS:
        if step < longest and _parts_nothing(text, first + step, mask):
            return text[first + step :]
    return ""


def _parts_nothing(text: str, place: int, mask: Mask) -> bool:
    before, after = text[max(0, place - AROUND) : place], text[place : place + AROUND]
    return mask(before)[0] + mask(after)[0] == mask(before + after)[0]
