"""The small words of a spec: durations, sizes, names, patterns.

Each parses what a person writes into one plain value, and says in plain words what it expected. Numbers are
strict: a quoted "4" or a `true` is not a number, because a spec that is guessed at buys the wrong runs.
"""

import json
import re
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, Strict, WithJsonSchema
from pydantic_core import PydanticCustomError

_SECONDS = {"s": 1, "m": 60, "h": 3600}
_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_MAX_NAME = 200


def wrong(message: str, hint: str = "") -> PydanticCustomError:
    """An error whose text reaches the user as it is."""
    return PydanticCustomError("tiltyard", "{text}", {"text": message, "hint": hint})


def shown(value: object, limit: int = 60) -> str:
    """A value as an error message shows it."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "keys and values"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        return json.dumps(value if len(value) <= limit else value[: limit - 3] + "...", ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def parse_duration(value: object) -> float:
    """Seconds of `90s`, `15m`, `2h` or a number of seconds."""
    seconds: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str) and (
        match := re.fullmatch(r"(\d+(?:\.\d+)?) ?([smh])", value.strip(), re.ASCII)
    ):
        seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds is None:
        raise wrong(f"expected a duration such as 90s, 15m or 2h, or a number of seconds, got {shown(value)}")
    if not 0 < seconds < float("inf"):
        raise wrong(f"a duration must be more than 0 seconds, got {shown(value)}")
    return seconds


def parse_size(value: object) -> int:
    """Bytes of `2g`, `64m`, `512k` (powers of 1024) or a number of bytes."""
    size: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str):
        match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?) ?([kmgt]?)", value.strip().lower(), re.ASCII)
        size = int(float(match[1]) * _BYTES[match[2]]) if match else None
    if size is None:
        raise wrong(f"expected a size such as 2g, 64m or 512k, or a number of bytes, got {shown(value)}")
    if size <= 0:
        raise wrong(f"a size must be more than 0 bytes, got {shown(value)}")
    return size


def _name(value: str) -> str:
    if not value.strip():
        raise wrong("must not be empty")
    if value != value.strip():
        raise wrong(f"must not begin or end with a blank, got {shown(value)}")
    if not value.isprintable() or len(value) > _MAX_NAME:
        raise wrong(f"must be one line of at most {_MAX_NAME} printable characters, got {shown(value)}")
    return value


def _filled(value: str) -> str:
    if not value.strip():
        raise wrong("must not be empty")
    return value


def _regex(value: str) -> str:
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise wrong(f"not a valid regular expression: {error}, in {shown(value)}") from error
    return value


def _env_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value, re.ASCII):
        raise wrong(f"{shown(value)} is not the name of an environment variable")
    return value


def _key_name(value: str) -> str:
    # The value is not shown: somebody who writes something else here has most likely written the key itself.
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,79}", value, re.ASCII):
        raise wrong(
            "expected the NAME of an environment variable, such as ANTHROPIC_API_KEY, not a value",
            "put the key into that variable; it never stands in the spec",
        )
    return value


def _url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+\S*", value):
        raise wrong(f"expected a URL that begins with https:// or http://, got {shown(value)}")
    # What follows is not shown where it may be a key.
    if "@" in value:
        raise wrong(
            "holds a user name or a password, which must never stand in a spec",
            "name the environment variable with the key in keys_from",
        )
    if "?" in value or "#" in value:
        raise wrong("expected a URL without ? and #, because paths such as /messages are put behind it")
    try:
        urlsplit(value).port  # noqa: B018  # reading it is the check
    except ValueError as error:
        raise wrong(f"{shown(value)} is not a URL: {error}") from error
    return value


def _inside(value: str) -> str:
    path = PurePosixPath(value)
    if (
        not value.strip()
        or path.is_absolute()
        or ".." in path.parts
        or "\\" in value
        or value.startswith("~")
    ):
        raise wrong(f"expected a relative path without .., got {shown(value)}")
    return value


def _workspace_file(value: str) -> str:
    _inside(value)
    parts = PurePosixPath(value).parts
    if not parts or parts[0] == ".git":
        raise wrong(f"expected a file of the workspace, got {shown(value)}")
    return value


def _schema(kinds: list[str], examples: list[Any]) -> WithJsonSchema:
    return WithJsonSchema({"type": kinds, "examples": examples})


Int = Annotated[int, Strict()]
Float = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Bool = Annotated[bool, Strict()]
Duration = Annotated[
    float, BeforeValidator(parse_duration), _schema(["string", "number"], ["90s", "15m", "2h"])
]
"""Seconds."""
Size = Annotated[int, BeforeValidator(parse_size), _schema(["string", "integer"], ["2g", "64m", "512k"])]
"""Bytes."""
Name = Annotated[str, AfterValidator(_name), Field(json_schema_extra={"minLength": 1})]
Text = Annotated[str, AfterValidator(_filled), Field(json_schema_extra={"minLength": 1})]
Regex = Annotated[str, AfterValidator(_regex), Field(json_schema_extra={"format": "regex"})]
EnvName = Annotated[str, AfterValidator(_env_name)]
KeyName = Annotated[str, AfterValidator(_key_name), Field(examples=["ANTHROPIC_API_KEY"])]
Url = Annotated[str, AfterValidator(_url), Field(examples=["https://api.example/v1"])]
SpecPath = Annotated[str, AfterValidator(_inside)]
"""A path relative to the spec file, inside its folder."""
WorkspacePath = Annotated[str, AfterValidator(_workspace_file)]
"""A path relative to the root of the agent's workspace."""
Scalar = Annotated[str, Strict()] | Bool | Int | Float
