"""Masks secrets in a file of any size with little memory. One that holds none is read and not written.

The file goes through in pieces. Where two pieces meet no secret may be cut in two, so a place is taken where
masking both sides gives what masking them together gives.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

Mask = Callable[[bytes], tuple[bytes, int]]

PIECE = 1 << 20
"""Bytes read at once."""
_AROUND = 64 * 1024
"""Bytes on each side of a meeting place that are looked at: more than a private key has."""
_STEP = 4093
_TRIES = 16


def mask_file(path: Path, mask: Mask) -> int:
    """Mask secrets in a file, in place.

    Args:
        path: The file.
        mask: Gives bytes masked, and how many secrets were in them.

    Returns:
        How many secrets were masked.

    Raises:
        OSError: It could not be done; the file is as it was.
    """
    with path.open("rb") as source:
        clean = _clean_length(source.read, mask)
    if clean is None:
        return 0
    temporary = path.with_name(f".{path.name}.masked")
    try:
        count = _rewrite(path, temporary, clean, mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def _clean_length(read: Callable[[int], bytes], mask: Mask) -> int | None:
    """How many bytes in front hold no secret; None when none do."""
    length = 0
    for piece in _pieces(read, mask):
        if mask(piece)[0] != piece:
            return length
        length += len(piece)
    return None


def _rewrite(path: Path, target: Path, clean: int, mask: Mask) -> int:
    count = 0
    with path.open("rb") as source, target.open("wb") as file:
        left = clean
        while left:
            left -= file.write(source.read(min(left, PIECE)))
        for piece in _pieces(source.read, mask):
            masked, found = mask(piece)
            file.write(masked)
            count += found
    return count


def _pieces(read: Callable[[int], bytes], mask: Mask) -> Iterator[bytes]:
    held = b""
    while block := read(PIECE):
        held += block
        if len(held) > 4 * _AROUND:
            place = _meeting_place(held, mask)
            yield held[:place]
            held = held[place:]
    if held:
        yield held


def _meeting_place(held: bytes, mask: Mask) -> int:
    """Where the bytes can be parted without parting a secret."""
    last = len(held) - _AROUND
    for place in range(last, last - _TRIES * _STEP, -_STEP):
        before, after = held[place - _AROUND : place], held[place : place + _AROUND]
        if mask(before)[0] + mask(after)[0] == mask(before + after)[0]:
            return place
    # Nothing but one word that is longer than any key.
    return last
