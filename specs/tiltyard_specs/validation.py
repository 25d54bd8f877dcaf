"""Turns pydantic's errors into sentences: what was expected, what stands there, which keys are allowed."""

import types
from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tiltyard_specs.nearest import did_you_mean, nearest
from tiltyard_specs.problems import KeyPath, Problem
from tiltyard_specs.scalars import shown
from tiltyard_specs.source import Source

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "keys and values",
    "model_type": "keys and values",
    "model_attributes_type": "keys and values",
}
_MISSING = "missing"
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


def real_path(location: tuple[str | int, ...], data: Any, error_type: str) -> KeyPath:
    """The path in the file: without the names of union members that pydantic adds."""
    path: list[str | int] = []
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if part == "[key]":
            continue
        known = (isinstance(data, Mapping) and part in data) or (
            isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)
        )
        if known:
            data = data[part]
        if known or (last and error_type == "missing"):
            path.append(part)
    return tuple(path)


def problems_of(error: ValidationError, source: Source, model: type[BaseModel]) -> dict[KeyPath, Problem]:
    """One problem per place."""
    found: dict[KeyPath, Problem] = {}
    meant: set[KeyPath] = set()
    for details in error.errors(include_url=False):
        path = real_path(details["loc"], source.data, details["type"])
        message, hint = _sentence(details, path, model)
        if details["type"] == "extra_forbidden":
            meant.update((*path[:-1], key) for key in nearest(str(path[-1]), allowed_keys(model, path[:-1])))
        found.setdefault(path, source.problem(path, message, hint))
    # A required key that is only misspelt is reported once.
    return {
        path: problem for path, problem in found.items() if path not in meant or problem.message != _MISSING
    }


def _sentence(details: ErrorDetails, path: KeyPath, model: type[BaseModel]) -> tuple[str, str]:
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    match kind:
        case "tiltyard":
            sentence = str(context["text"]), str(context["hint"])
        case "extra_forbidden":
            sentence = "unknown key", did_you_mean(str(path[-1]), allowed_keys(model, path[:-1]))
        case "missing":
            sentence = _MISSING, "this key is required"
        case "literal_error" | "enum":
            sentence = _literal(value, str(context["expected"]))
        case "too_short":
            sentence = "must not be empty", ""
        case _ if kind in _EXPECTED:
            sentence = f"expected {_EXPECTED[kind]}, got {shown(value)}", _type_hint(kind, value)
        case _ if kind in _BOUNDS:
            words, key = _BOUNDS[kind]
            sentence = f"must be {words} {context[key]:g}, got {shown(value)}", ""
        case _:
            sentence = f"{details['msg']}, got {shown(value)}", ""
    return sentence


def _type_hint(kind: str, value: object) -> str:
    if kind == "string_type" and isinstance(value, int | float):
        return "put it in quotes"
    if kind in {"tuple_type", "list_type"} and isinstance(value, str):
        return f"write [{shown(value, 30)}]"
    return ""


def _literal(value: object, expected: str) -> tuple[str, str]:
    words = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
    hint = did_you_mean(value, words) if isinstance(value, str) else f"allowed: {', '.join(words)}"
    return f"{shown(value)} is not allowed here", hint


def allowed_keys(model: type[BaseModel], path: KeyPath) -> tuple[str, ...]:
    """The keys that may stand at this path of the model."""
    annotation: Any = model
    for part in path:
        annotation = _step(annotation, part)
    found = _model_in(annotation)
    return tuple(field.alias or name for name, field in found.model_fields.items()) if found else ()


def _step(annotation: Any, part: str | int) -> Any:
    model = _model_in(annotation)
    if model is not None and isinstance(part, str) and part in model.model_fields:
        return model.model_fields[part].annotation
    for candidate in _members(annotation):
        arguments = get_args(candidate)
        if arguments and get_origin(candidate) in {tuple, dict}:
            return arguments[0] if get_origin(candidate) is tuple else arguments[1]
    return None


def _model_in(annotation: Any) -> type[BaseModel] | None:
    return next((m for m in _members(annotation) if isinstance(m, type) and issubclass(m, BaseModel)), None)


def _members(annotation: Any) -> tuple[Any, ...]:
    """The annotation itself, or the members of a union, without Annotated around them."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in {Union, types.UnionType}:
        return tuple(member for argument in get_args(annotation) for member in _members(argument))
    return (annotation,)
