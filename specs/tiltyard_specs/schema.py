"""The published JSON Schemas: editors complete and check specs by them, other tools read records by them.

They are generated from the models and kept beside them as files; a test fails when the two differ. To write
them anew: `python -m tiltyard_specs.schema`.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from tiltyard_specs.receipt import TrialReceipt
from tiltyard_specs.record import RunRecord
from tiltyard_specs.trial import TrialSpec

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILES = ("trial.schema.json", "record.schema.json", "receipt.schema.json")


def trial_schema() -> dict[str, Any]:
    """JSON Schema of a trial spec, in YAML, TOML or JSON."""
    schema = TrialSpec.model_json_schema(mode="validation")
    schema["required"] = [*schema["required"], "arms", "agents", "questions"]
    return _headed("Tiltyard trial spec", schema)


def record_schema() -> dict[str, Any]:
    """JSON Schema of run.json."""
    return _headed("Tiltyard run record", RunRecord.model_json_schema(mode="serialization"))


def receipt_schema() -> dict[str, Any]:
    """JSON Schema of trial.json."""
    return _headed("Tiltyard trial receipt", TrialReceipt.model_json_schema(mode="serialization"))


def schema_texts() -> dict[str, str]:
    """The text of each schema file, by name."""
    schemas = (trial_schema(), record_schema(), receipt_schema())
    texts = (json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for schema in schemas)
    return dict(zip(FILES, texts, strict=True))


def published(name: str) -> str:
    """The text of a schema file as it is installed."""
    return files("tiltyard_specs").joinpath(name).read_text(encoding="utf-8")


def _headed(title: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": _DIALECT, "title": title, **_without_titles(schema)}


def _without_titles(value: Any, *, names: bool = False) -> Any:
    """Without the titles that pydantic makes of field names: an editor would show each name twice."""
    if isinstance(value, dict):
        return {
            key: _without_titles(item, names=key in {"properties", "$defs"})
            for key, item in value.items()
            if names or key != "title" or not isinstance(item, str)
        }
    return [_without_titles(item) for item in value] if isinstance(value, list) else value


def write_schemas(folder: Path) -> None:
    """Write all schema files into a folder."""
    for name, text in schema_texts().items():
        folder.joinpath(name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(__file__).parent)
