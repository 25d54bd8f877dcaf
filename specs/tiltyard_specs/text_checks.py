"""No text of a spec holds what neither a command line nor a file can carry."""

from dataclasses import replace
from typing import Any

from tiltyard_specs.draft import Draft
from tiltyard_specs.problems import KeyPath

_NUL = "holds a NUL character, which no command line can carry", "remove it"
_SURROGATE = (
    "holds half of a surrogate pair, which is no character",
    'write the character itself, or "\\U0001F600" for its number',
)


def check_text(draft: Draft) -> None:
    """Report such texts and mend them, so that all else is still checked; to be called before validation."""
    draft.source = replace(draft.source, data=_mended(draft, draft.source.data, ()))


def _mended(draft: Draft, value: Any, path: KeyPath) -> Any:
    if isinstance(value, str):
        return _mended_text(draft, value, path)
    if isinstance(value, list):
        return [_mended(draft, item, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, dict):
        # A bad key is told at what holds it: its own name could not even be printed.
        keys = {key: _mended_text(draft, key, path) for key in value}
        return {keys[key]: _mended(draft, item, (*path, keys[key])) for key, item in value.items()}
    return value


def _mended_text(draft: Draft, text: str, path: KeyPath) -> str:
    if "\0" in text:
        draft.report(path, *_NUL)
    if any("\ud800" <= character <= "\udfff" for character in text):
        draft.report(path, *_SURROGATE)
    else:
        return text.replace("\0", "?")
    return text.encode("utf-8", "replace").decode().replace("\0", "?")
