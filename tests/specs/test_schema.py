"""The published JSON Schemas, which editors and other tools go by."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tiltyard_specs import Outcome, RunRecord
from tiltyard_specs.example import example_spec
from tiltyard_specs.schema import FILES, published, schema_texts, write_schemas

EXAMPLES = Path(__file__).parents[2] / "specs" / "examples"


def _errors(name: str, data: object) -> list[str]:
    schema = json.loads(published(name))
    Draft202012Validator.check_schema(schema)
    return [error.message for error in Draft202012Validator(schema).iter_errors(data)]


@pytest.mark.parametrize("name", FILES)
def test_the_published_file_is_what_the_models_give(name: str) -> None:
    assert published(name) == schema_texts()[name], "run: python -m tiltyard_specs.schema"


def test_writing_gives_the_published_files(tmp_path: Path) -> None:
    write_schemas(tmp_path)

    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == schema_texts()


@pytest.mark.parametrize(
    "data",
    [
        yaml.safe_load((EXAMPLES / "docs-layer.yaml").read_text(encoding="utf-8")),
        tomllib.loads((EXAMPLES / "docs-layer.toml").read_text(encoding="utf-8")),
        yaml.safe_load(example_spec("yaml")),
        tomllib.loads(example_spec("toml")),
    ],
)
def test_the_examples_are_valid(data: object) -> None:
    assert _errors("trial.schema.json", data) == []


@pytest.mark.parametrize(
    "change",
    [
        {"zebra": 1},
        {"arms": []},
        {"defaults": {"reps": 0}},
        {"network": "opne"},
        {"retries": "2"},
        {"limits": {"cpu": 1}},
    ],
)
def test_an_editor_sees_mistakes(change: dict[str, Any]) -> None:
    data = yaml.safe_load(example_spec("yaml"))

    assert _errors("trial.schema.json", data) == []
    assert _errors("trial.schema.json", data | change) != []


def test_every_key_of_a_spec_is_described_for_completion() -> None:
    schema = json.loads(published("trial.schema.json"))
    objects = {"TrialSpec": schema, **schema["$defs"]}

    silent = [
        f"{name}.{key}"
        for name, part in objects.items()
        for key, value in part.get("properties", {}).items()
        if "description" not in value
    ]

    assert silent == []


def test_a_written_record_is_valid() -> None:
    record = RunRecord(
        run_id="r", trial="t", question="q", arm="a", agent="g", rep=1, attempt=1,
        outcome=Outcome.INFRA, seconds=0, started_at="2026-01-01T00:00:00Z", node="n",
    )  # fmt: skip

    assert _errors("record.schema.json", json.loads(record.to_json())) == []
    assert _errors("record.schema.json", record.to_data() | {"outcome": "maybe"}) != []
