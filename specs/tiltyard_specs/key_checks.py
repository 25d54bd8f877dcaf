"""No key may stand in a spec: specs are committed, mailed, and copied into every receipt."""

from collections.abc import Iterator
from typing import Any

from tiltyard_specs.draft import Draft
from tiltyard_specs.problems import KeyPath, Problem
from tiltyard_specs.redact import looks_like_key

_MESSAGE = "holds what looks like a key, which must never stand in a spec"
_HINT = "put it into an environment variable and name that in gateway.keys_from; revoke it if others saw it"


def check_literals(draft: Draft) -> None:
    """Report each key anywhere in the file, comments included; its value is never shown."""
    paths = list(_suspects(draft.source.data, ()))
    for path in paths:
        draft.found[path] = draft.source.problem(path, _MESSAGE, _HINT)
    if paths:
        return
    for number, line in enumerate(draft.source.text.splitlines(), start=1):
        if looks_like_key(line):
            draft.found[("#", number)] = Problem(
                draft.source.file, number, "", f"this line {_MESSAGE}", _HINT
            )


def _suspects(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    if isinstance(value, dict):
        for key, item in value.items():
            if looks_like_key(key):
                yield (*path, key)
            else:
                yield from _suspects(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _suspects(item, (*path, index))
    elif isinstance(value, str) and looks_like_key(value):
        yield path
