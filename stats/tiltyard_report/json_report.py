"""The report as JSON, for other programs. Unknown numbers are null: JSON has no NaN."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite

from tiltyard_report.model import Report


def render_json(report: Report) -> str:
    """Lay a report out as JSON; `schema_version` says in which form."""
    return json.dumps(_plain(asdict(report)), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
