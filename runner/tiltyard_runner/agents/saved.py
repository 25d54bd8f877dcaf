"""Reads output that an agent left some time ago, in files of whose process nothing more is known."""

import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from tiltyard_runner.agents.mini_trajectory import read_trajectory
from tiltyard_runner.agents.model import AgentOutput, AgentResult
from tiltyard_runner.agents.registry import adapter_for
from tiltyard_runner.agents.streams import events, text
from tiltyard_specs.errors import DataError, UsageError
from tiltyard_specs.nearest import did_you_mean

_CLAUDE_EVENTS = frozenset({"system", "assistant", "user", "result", "stream_event"})
_CODEX_EVENTS = ("thread.", "turn.", "item.", "error")
_MINI_WORDS = b"Building agent config from specs"
_HEAD_BYTES = 4096
_EVENT_TYPE = re.compile(rb'\{\s*"type"\s*:\s*"([a-z_.]+)"')


def read_saved(
    kind: str, file: Path, *, usage_file: Path | None = None, stderr: Path | None = None
) -> AgentResult:
    """What a run came to, from its saved output.

    Args:
        kind: claude, codex or mini.
        file: Its standard output; for mini its trajectory serves as well.
        usage_file: For mini, the trajectory, when `file` is something else.
        stderr: Its standard error, which may say why there is nothing else.

    Raises:
        UsageError: The output of agents of this kind cannot be read.
        DataError: A file is not there, or is not what such an agent writes.
    """
    known = _LOOKS_LIKE.get(kind)
    if known is None:
        raise UsageError(
            f'no saved output of an agent "{kind}" can be read; {did_you_mean(kind, SAVED_KINDS, "Known")}'
        )
    for each in filter(None, (file, usage_file, stderr)):
        _check_readable(each)
    trajectory = usage_file
    if kind == "mini":
        trajectory = _trajectory(file, usage_file)
    elif file.stat().st_size and not known(file):
        raise _not_of(kind, file)
    # Where nothing is known of standard error, a file that never is stands for it.
    output = AgentOutput(file, stderr or file / "none", None, usage_file=trajectory)
    return adapter_for(kind).parse(output)


def _trajectory(file: Path, usage_file: Path | None) -> Path | None:
    if usage_file is not None:
        if read_trajectory(usage_file) is None:
            raise DataError(f"{usage_file} is not a trajectory of mini.")
        return usage_file
    if read_trajectory(file) is not None:
        return file
    if file.stat().st_size and not _is_mini(file):
        raise _not_of("mini", file)
    return None


def _check_readable(file: Path) -> None:
    # Opening a pipe would wait, and it would be empty when it is read for the second time.
    if file.exists() and not file.is_file() and not file.is_dir():
        raise DataError(f"{file} is not a regular file; save the output to one.")
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}.") from error


def _not_of(kind: str, file: Path) -> DataError:
    others = [other for other, looks_like in _LOOKS_LIKE.items() if other != kind and looks_like(file)]
    hint = f"; it looks like {others[0]}'s" if others else ""
    return DataError(f"{file} is not the output of {kind}{hint}.")


def _has_event(file: Path, known: Callable[[str], bool]) -> bool:
    """Whether there is an event of a known type, be it only the beginning of one that breaks off."""
    with file.open("rb") as stream:
        begun = _EVENT_TYPE.findall(stream.read(_HEAD_BYTES))
    types = (text(event.get("type")) or "" for event in events(file))
    return any(map(known, chain((name.decode() for name in begun), types)))


def _is_claude(file: Path) -> bool:
    return _has_event(file, _CLAUDE_EVENTS.__contains__)


def _is_codex(file: Path) -> bool:
    return _has_event(file, lambda kind: kind.startswith(_CODEX_EVENTS))


def _is_mini(file: Path) -> bool:
    with file.open("rb") as stream:
        return _MINI_WORDS in stream.read(_HEAD_BYTES) or read_trajectory(file) is not None


_LOOKS_LIKE: dict[str, Callable[[Path], bool]] = {"claude": _is_claude, "codex": _is_codex, "mini": _is_mini}
SAVED_KINDS: tuple[str, ...] = tuple(_LOOKS_LIKE)
"""The kinds whose saved output can be read."""
