"""Takes keys out of text that may be written down or handed to an agent."""

import re
from collections.abc import Iterable

REDACTED = "[redacted]"
_KEY_LIKE = re.compile(
    r"\b(sk-[\w*.-]{6,}|AIza[\w-]{20,}|AKIA[A-Z0-9]{12,}|gh[opsu]_\w{20,})|(?<=Bearer )[\w.~+/=-]{8,}"
)


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without the given secrets and without what looks like a key."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, REDACTED)
    return _KEY_LIKE.sub(REDACTED, text)
