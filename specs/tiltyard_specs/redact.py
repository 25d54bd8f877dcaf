"""Masks keys in whatever Tiltyard writes or prints, and notices keys in files where none may stand.

Known secrets are masked wherever they occur; beyond them, everything of the shape of a provider's key. A
placebo key (`sk-placebo-...`) is worthless by design and stays readable.
"""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

MASK = "[redacted]"
PLACEBO_PREFIX = "sk-placebo-"
_SHORTEST_SECRET = 6

_KEY = (
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?!placebo-)(?:(?:ant|proj|svcacct|admin|or|None)-[A-Za-z0-9_-]{8,}"
    # An English phrase such as sk-learn-contrib has no digit, no capital, and no word of 20 letters.
    # Looking no further than 64 keeps a flood of beginnings linear.
    r"|(?=[A-Za-z0-9_-]{0,64}[0-9A-Z])[A-Za-z0-9_-]{16,}|[a-z]{20,})"
    r"|AIza[A-Za-z0-9_-]{30,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|gh[oprsu]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}"
    r")"
)
_BEARER = (
    r"(?i:(?<![A-Za-z0-9])(bearer ))(?!sk-placebo-)(?=[A-Za-z0-9._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{16,}"
)
_PEM_WORDS = r"[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM = (
    rf"-----BEGIN {_PEM_WORDS}"
    rf"(?:(?:(?!-----BEGIN)[\s\S]){{0,20000}}?-----END {_PEM_WORDS}|(?:[A-Za-z0-9+/=\s]|\\[nr])*)"
)
_PATTERN = f"{_PEM}|{_BEARER}|{_KEY}"
_TEXT = re.compile(_PATTERN, re.ASCII)
_BYTES = re.compile(_PATTERN.encode())


def looks_like_key(text: str) -> bool:
    """Whether the text holds something of the shape of a real key."""
    return _TEXT.search(text) is not None


def _written_forms(secret: str) -> set[str]:
    """The secret as it is, and as JSON and URLs would write it."""
    return {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe=""),
    }


class Redactor:
    """Masks the secrets that it is given and everything that looks like a key.

    Args:
        secrets: The values of the keys in use. Shorter ones than 6 characters are no keys and are left alone:
            masking them would make any text unreadable.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        kept = {s for s in secrets if len(s) >= _SHORTEST_SECRET and not s.startswith(PLACEBO_PREFIX)}
        forms = sorted({form for secret in kept for form in _written_forms(secret)}, key=len, reverse=True)
        known = "|".join(re.escape(form) for form in forms)
        self._text = re.compile(known) if known else None
        self._bytes = re.compile("|".join(re.escape(f) for f in forms).encode()) if known else None

    def text(self, text: str) -> str:
        """The text with each key masked."""
        if self._text is not None:
            text = self._text.sub(MASK, text)
        return _TEXT.sub(lambda match: f"{match[1] or ''}{MASK}", text)

    def data(self, data: bytes) -> bytes:
        """The bytes with each key masked; the text around it may be of any encoding."""
        if self._bytes is not None:
            data = self._bytes.sub(MASK.encode(), data)
        return _BYTES.sub(lambda match: (match[1] or b"") + MASK.encode(), data)
