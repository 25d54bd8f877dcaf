"""Reads mini-swe-agent's trajectory file, which a kill may have cut while it was being written anew."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tiltyard_runner.agents.streams import Event, document, items, mapping, text, value_at

MAX_BYTES = 64 * 1024 * 1024
"""A longer one is not read: the largest real ones stay below a tenth of this."""
_SIGNS = re.compile(r'"(?:mini_version|model_stats|trajectory_format|exit_status)"\s*:')
_BETWEEN = " \t\r\n,"


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What mini wrote down: facts about the run, and its messages in order."""

    info: Event
    messages: tuple[Event, ...]

    @property
    def _end(self) -> Event:
        last = self.messages[-1] if self.messages else {}
        return last if last.get("role") == "exit" else {}

    @property
    def status(self) -> str:
        """Why mini ended, in its own word; empty while it had not."""
        told = text(self.info.get("exit_status")) or text(mapping(self._end.get("extra")).get("exit_status"))
        return told or ""

    @property
    def submission(self) -> str:
        """What the model handed in."""
        return text(self.info.get("submission")) or text(self._end.get("content")) or ""

    @property
    def last_words(self) -> str:
        """The message with which mini ended."""
        return text(self._end.get("content")) or ""


def read_trajectory(path: Path) -> Trajectory | None:
    """The trajectory, as far as it goes; None when the file is none or is not there."""
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    value = document(path, MAX_BYTES)
    if value is None:
        return _cut(path.read_bytes().decode("utf-8", "replace"))
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return None
    if "trajectory_format" not in value and "exit_status" not in mapping(value.get("info")):
        return None
    return Trajectory(mapping(value.get("info")), tuple(map(mapping, items(value["messages"]))))


def _cut(content: str) -> Trajectory | None:
    """The facts and those messages that stand before the break."""
    if not content.startswith("{") or not _SIGNS.search(content):
        return None
    start = re.search(r'"info"\s*:\s*', content)
    info = next(_values(content, start.end()), {}) if start else {}
    start = re.search(r'"messages"\s*:\s*\[', content)
    messages = _values(content, start.end()) if start else iter(())
    return Trajectory(mapping(info), tuple(map(mapping, messages)))


def _values(content: str, at: int) -> Iterator[object]:
    """The JSON values from a place on, up to the first that is not whole."""
    while True:
        while at < len(content) and content[at] in _BETWEEN:
            at += 1
        try:
            value, at = value_at(content, at)
        except (ValueError, RecursionError):
            return
        yield value
