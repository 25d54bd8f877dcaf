"""Reads Tiltyard's own JSON files: the schema version first, then the fields."""

import json
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from tiltyard_specs.errors import DataError
from tiltyard_specs.problems import SpecError
from tiltyard_specs.source import Source
from tiltyard_specs.validation import problems_of

ModelT = TypeVar("ModelT", bound=BaseModel)


def parse_versioned(model: type[ModelT], text: str | bytes, source: str, *, newest: int) -> ModelT:
    """One object of the model; every failure is a DataError that names the file."""
    data = _load(text, source)
    version = data.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError(f"{source}: has no schema_version, so it was not written by Tiltyard")
    if version > newest:
        versions = f"schema version {version}, this one reads up to {newest}"
        raise DataError(f"{source} was written by a newer Tiltyard ({versions}): upgrade")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise SpecError(problems_of(error, Source(source, data), model).values()) from None


def _load(text: str | bytes, source: str) -> dict[str, object]:
    try:
        data = _parsed(text)
    except json.JSONDecodeError as error:
        where = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise DataError(f"{source}: is cut off or damaged: not valid JSON ({where})") from None
    except (UnicodeDecodeError, RecursionError):
        raise DataError(f"{source}: is damaged: not JSON text") from None
    if not isinstance(data, dict):
        raise DataError(f"{source}: holds {type(data).__name__}, not an object: not written by Tiltyard")
    return data


def _parsed(text: str | bytes) -> object:
    """The value of a text: quickly and in little memory, because a plan may be of a million runs."""
    try:
        return from_json(text)
    except ValueError:
        # The other parser takes a little more, and says where it stops.
        return json.loads(text)
