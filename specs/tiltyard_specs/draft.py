"""A spec that is validated as far as it goes, so that one mistake does not hide the next.

What pydantic refuses is reported and taken out, and the rest is validated again, until the checks that need
the whole (references, files, prices) have something sound to look at.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tiltyard_specs.agents import Agent
from tiltyard_specs.arms import Arm
from tiltyard_specs.nearest import nearest
from tiltyard_specs.problems import KeyPath, Problem
from tiltyard_specs.questions import Capability, Question, Repo
from tiltyard_specs.source import Source
from tiltyard_specs.trial import TrialSpec
from tiltyard_specs.validation import allowed_keys, problems_of

ItemT = TypeVar("ItemT", bound=BaseModel)
_LISTS: dict[str, type[BaseModel]] = {
    "repos": Repo,
    "arms": Arm,
    "agents": Agent,
    "questions": Question,
    "capabilities": Capability,
}
_MOST_PASSES = 6


@dataclass(slots=True)
class Draft:
    """The sound part of a spec, and what is wrong with the rest."""

    source: Source
    folder: Path
    spec: TrialSpec | None = None
    found: dict[KeyPath, Problem] = field(default_factory=dict)
    dropped: dict[str, set[int]] = field(default_factory=lambda: {name: set() for name in _LISTS})
    incomplete: set[str] = field(default_factory=set)
    """Lists of which something had to be taken out: a reference into them proves nothing."""

    @property
    def sound(self) -> TrialSpec:
        """The sound part; the checks run only where there is one."""
        if self.spec is None:
            raise RuntimeError("nothing of the spec is sound")
        return self.spec

    def report(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Note a problem, unless one at this place or inside it is known, which explains it."""
        if not any(known[: len(path)] == path for known in self.found):
            self.found[path] = self.source.problem(path, message, hint)

    def items(self, name: str, kind: type[ItemT]) -> Iterator[tuple[int, ItemT]]:
        """The sound items of a list with their indices in the file."""
        sound = [item for item in getattr(self.spec, name) if isinstance(item, kind)]
        total = len(sound) + len(self.dropped[name])
        yield from zip((i for i in range(total) if i not in self.dropped[name]), sound, strict=True)

    def validate(self) -> None:
        """Find what pydantic finds, and keep the sound part as `spec`."""
        data = deepcopy(self.source.data)
        for _ in range(_MOST_PASSES):
            kept = {
                **data,
                **{name: self._kept(data, name) for name in _LISTS if isinstance(data.get(name), list)},
            }
            try:
                self.spec = TrialSpec.model_validate(kept)
            except ValidationError as error:
                problems = problems_of(error, Source(self.source.file, kept), TrialSpec)
                # All paths are translated before anything is taken out, which would shift the indices.
                for path, problem in [(self._original(path), problem) for path, problem in problems.items()]:
                    self.report(path, problem.message, problem.hint)
                    self._take_out(data, path)
            else:
                return

    def _kept(self, data: dict[str, Any], name: str) -> list[Any]:
        return [item for index, item in enumerate(data[name]) if index not in self.dropped[name]]

    def _original(self, path: KeyPath) -> KeyPath:
        """The path as it was before items were dropped."""
        match path:
            case (str(name), int(index), *rest) if name in _LISTS:
                reach = index + len(self.dropped[name]) + 1
                sound = [i for i in range(reach) if i not in self.dropped[name]]
                return (name, sound[index], *rest)
        return path

    def _take_out(self, data: dict[str, Any], path: KeyPath) -> None:
        if _read_as_meant(data, path):
            return
        match path:
            case ("name",):
                data["name"] = "unnamed"
            case (str(name), int(index), *rest) if name in _LISTS:
                if not _without_key(data[name][index], rest, _LISTS[name]):
                    self.dropped[name].add(index)
                    self.incomplete.add(name)
            case (str(section), key, *_) if isinstance(data.get(section), dict):
                data[section].pop(key, None)
            case (str(section), *_):
                data.pop(section, None)
                self.incomplete.add(section)


def _read_as_meant(data: Any, path: KeyPath) -> bool:
    """Take a misspelt key for the one that it resembles, so that its value is checked as well."""
    *parents, key = path
    allowed = allowed_keys(TrialSpec, tuple(parents))
    if not allowed or not isinstance(key, str) or key in allowed:
        return False
    for part in parents:
        data = data[part]
    value = data.pop(key)
    for name in nearest(key, allowed):
        data.setdefault(name, value)
    return True


def _without_key(item: Any, rest: list[str | int], model: type[BaseModel]) -> bool:
    """Take an optional key out of an item; whether that was possible."""
    if not rest or not isinstance(item, dict) or model.model_fields[str(rest[0])].is_required():
        return False
    item.pop(rest[0], None)
    return True
