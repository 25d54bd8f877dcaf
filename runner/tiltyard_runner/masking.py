"""Masks secrets in much text, quickly: most of it holds nothing that a key begins with."""

import re
from collections.abc import Callable, Iterable

from tiltyard_specs.redact import MASK, PLACEBO_PREFIX, Redactor, written_forms

_STARTS = (
    *(b"AIza", b"AKIA", b"ASIA", b"github_pat_", b"PRIVATE KEY"),
    *(b"gho_", b"ghp_", b"ghr_", b"ghs_", b"ghu_"),
)
"""One of these, or of those below, stands in whatever the patterns of `Redactor` match."""
# The letters come first and what is before them later: so they are searched for as fast as plain text.
_RARER = tuple(
    re.compile(pattern)
    for pattern in (
        rb"sk-(?<![A-Za-z0-9]sk-)(?!placebo-)[A-Za-z0-9_-]{8}",
        rb"xox(?<![A-Za-z0-9]xox)[abeoprs]-",
    )
)
_BEARER = re.compile(rb"bearer(?: |%20|\+)(?!sk-placebo-)[a-z0-9._~+/=-]{16}")
_ANCHOR = re.compile(r"[A-Za-z0-9]+", re.ASCII)
_SHORTEST = 6
_MASK = MASK.encode()
# Text such as sk-sk-sk-... makes a pattern start anew at each of them, and look to the end of the word each
# time: an agent could keep its driver busy for hours.
_WORD = r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{128,}"
_LONG_WORD = re.compile(_WORD, re.ASCII)
_LONG_WORD_BYTES = re.compile(_WORD.encode())
_MANY = 8


class Masking:
    """Masks known secrets and all that looks like a key, and counts.

    Args:
        secrets: The keys in use.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = _secrets(secrets)
        self._redactor = Redactor(known)
        self._starts = (*_STARTS, *(start for secret in known for start in _anchors(secret)))

    def data(self, data: bytes) -> tuple[bytes, int]:
        """The bytes with each secret masked, and how many those were."""
        if not self._suspect(data):
            return data, 0
        masked = self._redactor.data(_LONG_WORD_BYTES.sub(_without_flood_bytes, data))
        return masked, _added(masked.count(_MASK) - data.count(_MASK), differs=masked != data)

    def text(self, text: str) -> tuple[str, int]:
        """The text with each secret masked, and how many those were."""
        if not self._suspect(text.encode("utf-8", "surrogatepass")):
            return text, 0
        masked = self._redactor.text(_LONG_WORD.sub(_without_flood, text))
        return masked, _added(masked.count(MASK) - text.count(MASK), differs=masked != text)

    def sentence(self, text: str) -> tuple[str, int]:
        """The same for a short text, in which parts of known secrets are masked as well."""
        masked = self._redactor.sentence(_LONG_WORD.sub(_without_flood, text))
        return masked, _added(masked.count(MASK) - text.count(MASK), differs=masked != text)

    def _suspect(self, data: bytes) -> bool:
        return (
            any(start in data for start in self._starts)
            or any(pattern.search(data) for pattern in _RARER)
            or _BEARER.search(data.lower()) is not None
        )


def _anchors(secret: str) -> Iterable[bytes]:
    """One of these stands in whatever form the secret is written."""
    # Letters and digits stand as they are in JSON and in a URL.
    plain = max(_ANCHOR.findall(secret), key=len, default="")
    yield _bytes(plain)
    yield from (_bytes(form) for form in written_forms(secret) if plain not in form)


def exact(secrets: Iterable[str]) -> Callable[[bytes], tuple[bytes, int]]:
    """A function that masks the given secrets and nothing else."""
    values = [_bytes(secret) for secret in sorted(_secrets(secrets), key=len, reverse=True)]

    def mask(data: bytes) -> tuple[bytes, int]:
        count = 0
        for value in values:
            if found := data.count(value):
                data, count = data.replace(value, _MASK), count + found
        return data, count

    return mask


def _secrets(secrets: Iterable[str]) -> list[str]:
    """Those that are secrets: `Redactor` leaves short ones and placebo keys alone as well."""
    return [each for each in secrets if len(each) >= _SHORTEST and not each.startswith(PLACEBO_PREFIX)]


def _bytes(secret: str) -> bytes:
    """As the environment holds it, whatever its encoding."""
    return secret.encode("utf-8", "surrogateescape")


def _added(masks: int, *, differs: bool) -> int:
    """How many secrets went; at least one where the text is another, such as a key with a mask inside."""
    return max(masks, 1) if differs else 0


def _without_flood(word: re.Match[str]) -> str:
    return MASK if word[0].count("sk-") > _MANY else word[0]


def _without_flood_bytes(word: re.Match[bytes]) -> bytes:
    return _MASK if word[0].count(b"sk-") > _MANY else word[0]
