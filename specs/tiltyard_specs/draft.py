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
from tiltyard_specs.problems import KeyPath, Problem, dotted
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
    renamed: dict[KeyPath, KeyPath] = field(default_factory=dict)
    """Misspelt keys that were read as meant: the right path, then the one in the file."""
    incomplete: set[str] = field(default_factory=set)
    """Lists of which something had to be taken out: a reference into them proves nothing."""

    @property
    def sound(self) -> TrialSpec:
        """The sound part; the checks run only where there is one."""
        if self.spec is None:
            raise RuntimeError("nothing of the spec is sound")
        return self.spec

    def _line(self, path: KeyPath) -> int | None:
        """The line of a path, also below a key that stands misspelt in the file."""
        for end in range(len(path), 0, -1):
            if (written := self.renamed.get(path[:end])) is not None:
                return self._line((*written, *path[end:]))
        return self.source.line(path)

    def report(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Note a problem, unless one at this place or inside it is known, which explains it."""
        if not any(known[: len(path)] == path for known in self.found):
            self.found[path] = Problem(self.source.file, self._line(path), dotted(path), message, hint)

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
        if (meant := _read_as_meant(data, path)) is not None:
            self.renamed |= {meant: path} if meant != path else {}
            return
        match path:
            case ("name",):
                data["name"] = "unnamed"
            case (str(name), int(index), *rest) if name in _LISTS:
                item = data[name][index]
                if not (_without_key(item, rest, _LISTS[name]) if rest else _repaired(item, name)):
                    self.dropped[name].add(index)
                    self.incomplete.add(name)
            case (str(section), key, *_) if isinstance(data.get(section), dict):
                data[section].pop(key, None)
            case (str(section), *_):
                data.pop(section, None)
                self.incomplete.add(section)


def _read_as_meant(data: Any, path: KeyPath) -> KeyPath | None:
    """Take a misspelt key for the one that it resembles, so that its value is checked; its new path."""
    *parents, key = path
    allowed = allowed_keys(TrialSpec, tuple(parents))
    if not allowed or not isinstance(key, str) or key in allowed:
        return None
    try:
        for part in parents:
            data = data[part]
        value = data.pop(key)
    except (KeyError, TypeError):
        # What holds it went out with an earlier problem.
        return path
    names = [name for name in nearest(key, allowed) if name not in data]
    data |= dict.fromkeys(names, value)
    return (*parents, *names) if names else path


def _without_key(item: Any, rest: list[str | int], model: type[BaseModel]) -> bool:
    """Take an optional key out of an item; whether that was possible."""
    if not isinstance(item, dict) or model.model_fields[str(rest[0])].is_required():
        return False
    item.pop(rest[0], None)
    return True


def _repaired(item: Any, name: str) -> bool:
    """Mend what an item as a whole lacks or has too much of, so that its references are checked as well."""
    match name, item:
        case "questions", {"id": _} if "verify" not in item:
            item["verify"] = "true"
        case "agents", {"model": _, "models": _}:
            del item["model"]
        case "agents", {"effort": _, "efforts": _}:
            del item["effort"]
        case _:
            return False
    return True
