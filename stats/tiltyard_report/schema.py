"""The published JSON Schema of a report: generated from the model, kept beside it as a file.

To write it anew after a change of the model: `python -m tiltyard_report.schema`.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tiltyard_report.model import SCHEMA_VERSION, Report

FILE = "report.schema.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def report_schema() -> dict[str, Any]:
    """JSON Schema of what `tiltyard report --format json` prints."""
    schema = TypeAdapter(Report).json_schema(mode="serialization")
    made: dict[str, Any] = _nullable(schema)
    made["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    return {"$schema": _DIALECT, "title": "Tiltyard report", **made}


def schema_text() -> str:
    """The text of the schema file."""
    return json.dumps(report_schema(), indent=2, ensure_ascii=False) + "\n"


def published() -> str:
    """The text of the file as it is installed."""
    return files("tiltyard_report").joinpath(FILE).read_text(encoding="utf-8")


def _nullable(value: Any, *, names: bool = False) -> Any:
    """A number that is not known is null, and names are not told twice."""
    if isinstance(value, dict):
        inner = {
            key: _nullable(item, names=key in {"properties", "$defs"})
            for key, item in value.items()
            if names or key not in {"title", "default"}
        }
        return {"type": ["number", "null"]} if inner == {"type": "number"} else inner
    return [_nullable(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    Path(__file__).with_name(FILE).write_text(schema_text(), encoding="utf-8")
