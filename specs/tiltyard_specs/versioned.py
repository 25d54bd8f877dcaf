"""Reads Tiltyard's own JSON files: the schema version first, then the fields."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from tiltyard_specs.errors import DataError
from tiltyard_specs.problems import SpecError
from tiltyard_specs.source import Source
from tiltyard_specs.validation import problems_of
from tiltyard_specs.visible import visible

ModelT = TypeVar("ModelT", bound=BaseModel)


Found = Iterable[tuple[tuple[str, ...], str]]
"""Paths, and what is wrong there."""


def parse_versioned(
    model: type[ModelT],
    text: str | bytes,
    source: str,
    *,
    newest: int,
    check: Callable[[Mapping[str, Any]], Found] | None = None,
) -> ModelT:
    """One object of the model; every failure is a DataError that names the file.

    Args:
        model: What the file holds.
        text: The file.
        source: Its name, for messages.
        newest: The highest schema version that is read.
        check: What is wrong with it that its types do not tell; a key that stands there twice is wrong then.
    """
    data = _load(text, source)
    version = data.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError(f"{source}: has no schema_version, so it was not written by Tiltyard")
    if version > newest:
        versions = f"schema version {version}, this one reads up to {newest}"
        raise DataError(f"{source} was written by a newer Tiltyard ({versions}): upgrade")
    try:
        found = model.model_validate(data)
    except ValidationError as error:
        raise SpecError(problems_of(error, Source(source, data), model).values()) from None
    if check is not None:
        _require_single_keys(text, data, source)
        named = Source(source, data)
        wrong = [named.problem(path, message, "") for path, message in check(data)]
        if wrong:
            raise SpecError(wrong)
    return found


def _require_single_keys(text: str | bytes, data: object, source: str) -> None:
    """Refuse a key that stands twice in one object: which of the two is meant nobody knows."""
    mark = b'":' if isinstance(text, bytes) else '":'
    # Most texts have as many marks as keys, and are not parsed again.
    if text.count(mark) != _keys(data):  # type: ignore[arg-type]  # both are texts or both are bytes
        json.loads(text, object_pairs_hook=lambda pairs: _single(pairs, source))


def _keys(value: object) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_keys(item) for item in value.values() if isinstance(item, dict | list))
    if isinstance(value, list):
        return sum(_keys(item) for item in value if isinstance(item, dict | list))
    return 0


def _single(pairs: list[tuple[str, object]], source: str) -> dict[str, object]:
    single = dict(pairs)
    if len(single) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{source}: {visible(twice, one_line=True)}: this key stands there twice")
    return single


def _load(text: str | bytes, source: str) -> dict[str, object]:
    try:
        data = _parsed(text)
    except json.JSONDecodeError as error:
        where = f"{error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}"
        raise DataError(f"{source}: is cut off or damaged: not valid JSON ({where})") from None
    except (UnicodeDecodeError, RecursionError):
        raise DataError(f"{source}: is damaged: not JSON text") from None
    except ValueError:
        raise DataError(f"{source}: is damaged: it holds a number of thousands of digits") from None
    if not isinstance(data, dict):
        raise DataError(f"{source}: holds {type(data).__name__}, not an object: not written by Tiltyard")
    return data


def _parsed(text: str | bytes) -> object:
    """The value of a text: quickly and in little memory, because a plan may be of a million runs."""
    try:
        return from_json(text)
    except ValueError:
        # The other parser takes a little more, and says where it stops.
        return json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"))
