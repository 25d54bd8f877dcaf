"""What is wrong with a file: every problem at once, each with its place, as one error.

A user who must start a command once per mistake gives up on the third.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from tiltyard_specs.errors import DataError, UnavailableError
from tiltyard_specs.redact import Redactor

KeyPath = tuple[str | int, ...]
"""Where something stands in a file: keys and list indices from the top."""


def dotted(path: KeyPath) -> str:
    """The path as messages show it: `arms[1].setup`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[\w@/-]+", part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    file: str
    line: int | None
    """From 1; None where it is not known."""
    path: str
    """Dotted path such as `arms[1].setup`; empty for the file as a whole."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """The sentence that the user reads; never with a key in it."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        text = ": ".join(part for part in (place, self.path, self.message) if part)
        return Redactor().text(f"{text}; {self.hint}" if self.hint else text)


def _lines(problems: Iterable[Problem]) -> str:
    return "\n".join(str(problem) for problem in problems)


class SpecError(DataError):
    """A file holds something wrong: all of its problems, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line or 0))
        super().__init__(_lines(self.problems))

    def __reduce__(self) -> tuple[type["SpecError"], tuple[tuple[Problem, ...]]]:
        """Travels between processes with its problems."""
        return type(self), (self.problems,)


class MissingKeyError(UnavailableError):
    """A spec is right, but environment variables that it names are not set on this machine."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(_lines(self.problems))

    def __reduce__(self) -> tuple[type["MissingKeyError"], tuple[tuple[Problem, ...]]]:
        """Travels between processes with its problems."""
        return type(self), (self.problems,)
