"""The report as JSON, for other programs. Unknown numbers are null: JSON has no NaN."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from math import isfinite
from typing import Any

from tiltyard_report.model import Report
from tiltyard_specs.visible import visible


def render_json(report: Report) -> str:
    """Lay a report out as JSON; `schema_version` says in which form.

    What a terminal would obey is escaped as JSON does, so that a reader gets it back as it was.
    """
    text = json.dumps(_plain(report), indent=2, ensure_ascii=False, allow_nan=False)
    return _ODD.sub(_escaped, text) + "\n"


# Line ends outside of strings are ours; of the rest, only these can be what a terminal obeys.
_ODD = re.compile(r"[^\n\x20-\x7e]")


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return f"\\u{ord(character):04x}" if visible(character) != character else character


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(getattr(value, name)) for name in _names(type(value))}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
