"""A spec file as plain data that remembers on which line each key stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiltyard_specs.problems import KeyPath, Problem, SpecError, dotted

MAX_DEPTH = 64
"""Levels of keys and lists in a file: what reads, checks and writes them goes down by recursion."""
TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"


@dataclass(frozen=True, slots=True)
class Source:
    """What one file says, and where."""

    file: str
    """As the user gave it."""
    data: Any
    text: str = ""
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    """What reading already found: duplicate keys, unsupported tags."""

    def problem(self, path: KeyPath, message: str, hint: str = "") -> Problem:
        """A problem at this path."""
        return Problem(self.file, self.line(path), dotted(path), message, hint)

    def line(self, path: KeyPath) -> int | None:
        """The line of the path, or of the nearest thing around it."""
        for end in range(len(path), 0, -1):
            if (line := self.lines.get(path[:end])) is not None:
                return line
        return None


def read_source(path: Path) -> Source:
    """Read a YAML or TOML file."""
    file = str(path)
    text = _read_text(path)
    if path.suffix == ".toml":
        from tiltyard_specs.toml_source import read_toml  # noqa: PLC0415  (only the reader that is needed)

        return read_toml(file, text)
    if path.suffix in {".yaml", ".yml", ".json"}:
        from tiltyard_specs.yaml_source import read_yaml  # noqa: PLC0415

        return read_yaml(file, text)
    raise SpecError([Problem(file, None, "", "a spec is a .yaml, .yml, .json or .toml file")])


def _read_text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # Reading a FIFO would wait for ever.
            raise SpecError([Problem(str(path), None, "", "is no regular file")])
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        message = "no such file"
    except IsADirectoryError:
        message = "is a folder; give the spec file in it"
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 text (byte {error.start})"
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
    raise SpecError([Problem(str(path), None, "", message)])
