"""The report as JSON, for other programs. Unknown numbers are null: JSON has no NaN."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite

from tiltyard_report.model import Report
from tiltyard_specs.visible import visible


def render_json(report: Report) -> str:
    """Lay a report out as JSON; `schema_version` says in which form.

    What a terminal would obey is escaped as JSON does, so that a reader gets it back as it was.
    """
    text = json.dumps(_plain(asdict(report)), indent=2, ensure_ascii=False, allow_nan=False)
    return "".join(map(_escaped, text)) + "\n"


def _escaped(character: str) -> str:
    # Outside of strings only line ends are such characters, and these are ours.
    obeyed = character != "\n" and visible(character) != character
    return f"\\u{ord(character):04x}" if obeyed else character


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
