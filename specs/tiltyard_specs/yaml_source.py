"""Reads YAML by the YAML 1.2 core schema, with the line of each key and an error for each duplicate.

PyYAML alone reads YAML 1.1, where `off` is false, `1:30` is 90 and 010 is 8; and it keeps the last of two
equal keys without a word.
"""

import re
from typing import Any

import yaml

from tiltyard_specs.problems import KeyPath, Problem, SpecError, dotted
from tiltyard_specs.source import MAX_DEPTH, TOO_DEEP, Source

_MAX_NODES = 200_000
_PREFIX = "tag:yaml.org,2002:"
_SYNTAX_HINTS = {
    "\\t": "indent with spaces",
    "got '?'": "put text with a question mark in quotes here",
    "mapping values are not allowed": "put text with a colon in quotes",
}
_RESOLVERS: tuple[tuple[str, str, str], ...] = (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("merge", r"<<", "<"),
)


class _TooDeepError(Exception):
    """The text is nested too deep; holds the line."""


class _Loader(yaml.SafeLoader):
    """Composes nodes; values are built here and not by PyYAML."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  (PyYAML's own attribute)
    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """One node with all that it holds."""
        self._depth += 1
        if self._depth > MAX_DEPTH + 1:
            raise _TooDeepError(self.line + 1)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


for _tag, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(
        _PREFIX + _tag, re.compile(f"(?:{_pattern})$"), [*_first, ""] if _tag == "null" else [*_first]
    )


def read_yaml(file: str, text: str) -> Source:
    """Parse the text; syntax errors end it, everything else is collected."""
    try:
        node = _Loader(text).get_single_node()
    except yaml.YAMLError as error:
        raise SpecError([_syntax_problem(file, error)]) from None
    except _TooDeepError as error:
        raise SpecError([Problem(file, error.args[0], "", TOO_DEEP)]) from None
    builder = _Builder(file)
    data = None if node is None else builder.build(node, ())
    return Source(file, data, text, builder.lines, tuple(builder.problems))


def _syntax_problem(file: str, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
    context = getattr(error, "context", None)
    hint = next((hint for sign, hint in _SYNTAX_HINTS.items() if sign in what), "")
    message = f"not valid YAML: {what}" + (f" ({context})" if context else "")
    return Problem(file, mark.line + 1 if mark else None, "", message, hint)


class _Builder:
    """Builds plain data of nodes, and notes lines and problems on the way."""

    def __init__(self, file: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._file = file
        self._open: set[int] = set()
        self._count = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        """The value of a node."""
        self.lines.setdefault(path, node.start_mark.line + 1)
        self._count += 1
        if id(node) in self._open or self._count > _MAX_NODES or len(path) > MAX_DEPTH:
            self._fatal(node, path)
        self._open.add(id(node))
        try:
            return self._value(node, path)
        finally:
            self._open.discard(id(node))

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        if isinstance(node, yaml.MappingNode) and node.tag == _PREFIX + "map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _PREFIX + "seq":
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and node.tag.removeprefix(_PREFIX) in _SCALARS:
            return self._scalar(node, path)
        self._note(node, path, f"the YAML tag {node.tag.replace(_PREFIX, '!!')} is not supported")
        return None

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        try:
            return _SCALARS[node.tag.removeprefix(_PREFIX)](node.value)
        except (ValueError, KeyError):
            self._note(node, path, f"not a valid {node.tag.removeprefix(_PREFIX)}")
            return None

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _PREFIX + "merge":
                merged |= self._merged(value_node, path)
            elif (key := self._key(key_node, path)) is not None:
                line = key_node.start_mark.line + 1
                if key in first:
                    self._note(key_node, (*path, key), f"duplicate key, first on line {first[key]}")
                    continue
                first[key] = line
                self.lines[(*path, key)] = line
                result[key] = self.build(value_node, (*path, key))
        return merged | result

    def _merged(self, node: yaml.Node, path: KeyPath) -> dict[str, Any]:
        """What `<<: *anchor` brings; of several, the first wins."""
        values = self.build(node, path)
        found: dict[str, Any] = {}
        for value in reversed(values if isinstance(values, list) else [values]):
            if isinstance(value, dict):
                found |= value
            else:
                self._note(node, path, "<< must name keys and values to merge")
        return found

    def _key(self, node: yaml.Node, path: KeyPath) -> str | None:
        if isinstance(node, yaml.ScalarNode) and node.tag == _PREFIX + "str":
            return str(node.value)
        shown = node.value if isinstance(node, yaml.ScalarNode) else "a list or mapping"
        self._note(node, path, f"a key must be text, got {shown}", "put it in quotes")
        return None

    def _note(self, node: yaml.Node, path: KeyPath, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self._file, node.start_mark.line + 1, dotted(path), message, hint))

    def _fatal(self, node: yaml.Node, path: KeyPath) -> None:
        line = node.start_mark.line + 1
        if id(node) in self._open:
            problem = Problem(self._file, line, dotted(path), "a YAML alias contains itself")
        elif len(path) > MAX_DEPTH:
            problem = Problem(self._file, line, "", TOO_DEEP)
        else:
            message = "too many YAML nodes: are aliases nested?"
            problem = Problem(self._file, line, dotted(path), message)
        raise SpecError([problem])


def _int(text: str) -> int:
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


_SCALARS: dict[str, Any] = {
    "str": str,
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": _int,
    "float": _float,
}
