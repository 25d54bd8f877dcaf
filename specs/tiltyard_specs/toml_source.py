"""Reads TOML, with the line of each key.

The standard library gives the values but no positions, so a second pass over the text, which is known to be
valid by then, notes where each key stands.
"""

import re
import tomllib
from typing import Any

from tiltyard_specs.problems import KeyPath, Problem, SpecError
from tiltyard_specs.source import MAX_DEPTH, TOO_DEEP, Source

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:\\[\s\S]|(?!""")[\s\S])*"{3,5}'
    r"|'''(?:(?!''')[\s\S])*'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}#\r\n]*")


def read_toml(file: str, text: str) -> Source:
    """Parse the text; a syntax error (a duplicate key is one in TOML) ends it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError([_syntax_problem(file, str(error), text)]) from None
    except RecursionError:
        raise SpecError([Problem(file, None, "", TOO_DEEP)]) from None
    if _is_too_deep(data):
        raise SpecError([Problem(file, None, "", TOO_DEEP)])
    return Source(file, data, text, _Finder(text).find())


def _is_too_deep(data: Any) -> bool:
    level: list[Any] = [data]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for value in level
            if isinstance(value, dict | list)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
    return bool(level)


def _syntax_problem(file: str, message: str, text: str) -> Problem:
    match = re.fullmatch(r"(.*) \((?:at line (\d+), column \d+|at end of document)\)", message, re.DOTALL)
    if match is None:
        return Problem(file, None, "", f"not valid TOML: {message}")
    line = int(match[2]) if match[2] else text.count("\n") + 1
    reason = match[1][0].lower() + match[1][1:]
    hint = "the same key or table stands twice" if "overwrite" in reason or "twice" in reason else ""
    return Problem(file, line, "", f"not valid TOML: {reason}", hint)


class _Finder:
    """Walks over valid TOML and notes the line of each key, table and list item."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._lines: dict[KeyPath, int] = {}
        self._items: dict[KeyPath, int] = {}
        self._counted_to = 0
        self._line = 1

    def find(self) -> dict[KeyPath, int]:
        """The line of each path."""
        table: KeyPath = ()
        while self._skip(_BLANK) < len(self._text):
            if self._peek("["):
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _header(self) -> KeyPath:
        many = self._peek("[[")
        self._at += 2 if many else 1
        keys = self._keys()
        self._at += 2 if many else 1
        table: KeyPath = ()
        for key in keys[:-1]:
            table = self._latest((*table, key))
        table = (*table, keys[-1])
        if not many:
            table = self._latest(table)
        else:
            self._note(table)
            self._items[table] = self._items.get(table, -1) + 1
            table = (*table, self._items[table])
        self._note(table)
        return table

    def _latest(self, path: KeyPath) -> KeyPath:
        """In a table of an array of tables, the last item is meant."""
        self._note(path)
        return (*path, self._items[path]) if path in self._items else path

    def _pair(self, table: KeyPath) -> None:
        path = table
        for key in self._keys():
            path = (*path, key)
            self._note(path)
        self._at += 1
        self._value(path)

    def _keys(self) -> list[str]:
        keys = [self._key()]
        while self._skip(_SPACE) < len(self._text) and self._peek("."):
            self._at += 1
            keys.append(self._key())
        return keys

    def _key(self) -> str:
        self._skip(_SPACE)
        pattern = _STRING if self._text[self._at] in "\"'" else _BARE_KEY
        token = self._take(pattern)
        return str(tomllib.loads(f"key = {token}")["key"]) if pattern is _STRING else token

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        if self._peek("["):
            self._array(path)
        elif self._peek("{"):
            self._inline_table(path)
        else:
            self._take(_STRING if self._text[self._at] in "\"'" else _PLAIN)

    def _array(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while self._skip(_BLANK) < len(self._text) and not self._peek("]"):
            self._note((*path, index))
            self._value((*path, index))
            self._skip(_BLANK)
            if self._peek(","):
                self._at += 1
            index += 1
        self._at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while self._skip(_BLANK) < len(self._text) and not self._peek("}"):
            self._pair(path)
            self._skip(_BLANK)
            if self._peek(","):
                self._at += 1
        self._at += 1

    def _peek(self, token: str) -> bool:
        return self._text.startswith(token, self._at)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        self._take(pattern)
        return self._at

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise ValueError(f"lost the place in a TOML file at character {self._at}")
        self._at = match.end()
        return match[0]

    def _note(self, path: KeyPath) -> None:
        self._line += self._text.count("\n", self._counted_to, self._at)
        self._counted_to = self._at
        self._lines.setdefault(path, self._line)
