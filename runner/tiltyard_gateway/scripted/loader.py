"""Reads a model script and says in sentences what is wrong with it, all at once."""

import json
from pathlib import Path

from pydantic import ValidationError

from tiltyard_gateway.scripted.script import Script
from tiltyard_specs.problems import KeyPath, Problem, SpecError
from tiltyard_specs.source import Source, read_source
from tiltyard_specs.validation import problems_of
from tiltyard_specs.yaml_source import read_yaml


def load_script(path: Path) -> Script:
    """Read a script file, or raise `SpecError` (a `DataError`) with every mistake in it."""
    return _checked(read_source(path))


def parse_script(text: str, *, name: str) -> Script:
    """Read a script from YAML text; `name` stands for the file in messages."""
    return _checked(read_yaml(name, text))


def parse_line(line: bytes) -> Script:
    """Read a script that another process has checked, from one line of JSON."""
    try:
        data = json.loads(line)
    except ValueError as error:
        raise SpecError([Problem("stdin", None, "", f"is not one line of JSON: {error}")]) from None
    return _checked(Source("stdin", data))


def _checked(source: Source) -> Script:
    problems: dict[KeyPath, Problem] = {(index,): problem for index, problem in enumerate(source.problems)}
    script = None
    try:
        script = Script.model_validate(source.data)
    except ValidationError as error:
        problems |= problems_of(error, source, Script)
    if script is None or problems:
        raise SpecError(problems.values())
    return script
