"""Reads a model script and says in sentences what is wrong with it."""

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tiltyard_gateway.scripted.script import (
    Conversation,
    ErrorAnswer,
    Script,
    ToolUse,
    Turn,
    When,
)
from tiltyard_specs.errors import DataError
from tiltyard_specs.usage import Usage

_MODELS = (Script, Conversation, When, Turn, ToolUse, ErrorAnswer, Usage)
_KNOWN = sorted({name for model in _MODELS for name in model.model_fields})


def load_script(path: Path) -> Script:
    """Read a script file, or raise `DataError` with every mistake in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: the model script cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: the model script is not UTF-8: {error.reason}") from error
    return parse_script(text, name=str(path))


def parse_script(text: str, *, name: str) -> Script:
    """Read a script from text; `name` stands for the file in messages."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise DataError(f"{name}{line}: this is no YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(data, dict):
        raise DataError(f"{name}: a model script is a mapping with the key conversations")
    try:
        return Script.model_validate(data)
    except ValidationError as error:
        raise DataError("\n".join(f"{name}: {_sentence(dict(item))}" for item in error.errors())) from error


def _sentence(item: dict[str, Any]) -> str:
    path = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        near = get_close_matches(str(item["loc"][-1]), _KNOWN, n=1)
        return f"{path}: unknown key" + (f"; did you mean {near[0]}?" if near else "")
    return f"{path}: {str(item['msg']).removeprefix('Value error, ')}"
