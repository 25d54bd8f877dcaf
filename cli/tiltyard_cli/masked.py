"""Masks keys in all that the command prints: results, progress, usage errors, sentences and tracebacks.

Whoever prints may quote an engine, a provider, a spec or an agent. So the two streams themselves are masked,
and no command has to think of it. Each text that is written counts for itself.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from tiltyard_specs.redact import Redactor

_LONG = 64 * 1024
"""Characters of a text that is no sentence any more, such as a report."""
_remembered: set[str] = set()


def remember(secrets: Iterable[str]) -> None:
    """Mask these as well from now on, beside the values of the providers' usual variables."""
    _remembered.update(secrets)


def masked(text: str) -> str:
    """The text with each key masked."""
    redactor = _redactor(frozenset({*_usual(), *_remembered}))
    return redactor.text(text) if len(text) > _LONG else redactor.sentence(text)


def _usual() -> Iterator[str]:
    from tiltyard_specs.usual_keys import DEFAULT_KEYS  # noqa: PLC0415  # only what prints pays for it

    for name in DEFAULT_KEYS.values():
        yield os.environ.get(name, "").strip()


@lru_cache(maxsize=4)
def _redactor(secrets: frozenset[str]) -> "Redactor":
    from tiltyard_specs.redact import Redactor  # noqa: PLC0415  # only what prints pays for it

    return Redactor(secrets)


class _MaskedStream:
    """A text stream that masks what is written to it, and is the stream behind it in all else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write it masked."""
        self._stream.write(masked(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each masked."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def masked_output() -> Iterator[None]:
    """Within the block, no key is written to standard output or standard error."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast("TextIO", _MaskedStream(out)), cast("TextIO", _MaskedStream(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
        _remembered.clear()
