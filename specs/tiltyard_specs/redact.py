"""Masks keys in whatever Tiltyard writes or prints, and notices keys in files where none may stand.

Known secrets are masked wherever they occur; beyond them, everything of the shape of a provider's key. A
placebo key (`sk-placebo-...`) is worthless by design and stays readable.
"""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from html import escape
from itertools import groupby
from urllib.parse import quote, quote_plus

MASK = "[redacted]"
PLACEBO_PREFIX = "sk-placebo-"
SHORTEST_SECRET = 6
"""Characters; shorter values are left alone, because masking them would make any text unreadable."""
_SHORTEST_BASE64 = 10
"""Shorter pieces of base64 stand in any text by chance."""
_PART = 8
"""Characters of a known key that are a part of it and not a word by chance."""

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
    r"(?i:(?<![A-Za-z0-9])(bearer(?: |%20|\+)))(?!sk-placebo-)"
    r"(?=[A-Za-z0-9._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{16,}"
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


def written_forms(secret: str) -> list[str]:
    """The secret as it is, and as JSON, Python, URLs, HTML, base64 and hexadecimal digits would write it.

    Longest first: one form may hold another.
    """
    raw = secret.encode("utf-8", "surrogateescape")
    forms = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(secret)[1:-1])[1:-1],
        repr(secret)[1:-1],
        escape(secret),
        quote(raw, safe=""),
        quote(raw),
        quote_plus(raw),
        raw.hex(),
        *_base64_forms(raw),
    }
    return sorted(forms, key=lambda form: (-len(form), form))


def _base64_forms(raw: bytes) -> set[str]:
    """What base64 makes of a secret within other text, as in `Authorization: Basic`, wherever it begins."""
    forms = set()
    for before in range(3):
        # The first and the last characters depend on what stands around the secret.
        first = (0, 2, 3)[before]
        last = (before + len(raw)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            forms.add(encode(b"\0" * before + raw).decode()[first:last])
    return {form for form in forms if len(form) >= _SHORTEST_BASE64}


class Redactor:
    """Masks the secrets that it is given and everything that looks like a key.

    Args:
        secrets: The values of the keys in use. Shorter ones than 6 characters are no keys and are left alone:
            masking them would make any text unreadable.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = [s for s in secrets if len(s) >= SHORTEST_SECRET and not s.startswith(PLACEBO_PREFIX)]
        self._forms = sorted({form for each in self._secrets for form in written_forms(each)}, key=len)[::-1]
        self._bytes = [form.encode("utf-8", "surrogateescape") for form in self._forms]

    def text(self, text: str) -> str:
        """The text with each key masked."""
        for form in self._forms:
            text = text.replace(form, MASK)
        return _TEXT.sub(lambda match: f"{match[1] or ''}{MASK}", text)

    def data(self, data: bytes) -> bytes:
        """The bytes with each key masked; the text around it may be of any encoding."""
        for form in self._bytes:
            data = data.replace(form, MASK.encode())
        return _BYTES.sub(lambda match: (match[1] or b"") + MASK.encode(), data)

    def sentence(self, text: str) -> str:
        """A short text with each key masked, and each part of a known one: what quotes may also cut."""
        text = self.text(text)
        hit = bytearray(len(text))
        for secret in self._secrets:
            for part in {secret[i : i + _PART] for i in range(len(secret) - _PART + 1)}:
                at = text.find(part)
                while at >= 0:
                    hit[at : at + _PART] = b"\1" * _PART
                    at = text.find(part, at + 1)
        parts = groupby(zip(text, hit, strict=True), key=lambda pair: pair[1])
        return "".join(MASK if masked else "".join(char for char, _ in run) for masked, run in parts)
