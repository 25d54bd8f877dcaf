"""Whether the files of runs beside a manifest are those that it names: none changed, gone or added."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_core import from_json

from tiltyard_cluster.compaction import canonical_line
from tiltyard_cluster.layout import ATTEMPT, RECORD, is_record
from tiltyard_cluster.lines import Key, digest_of, keyed, read_lines
from tiltyard_specs.manifest import Manifest


@dataclass(slots=True)
class Beside:
    """Is shown every file of a run, and says what is wrong with it."""

    name: str
    """What to call the result."""
    manifest: Manifest
    label: Callable[[str], str]
    """What to call a run, by its id."""
    attempts: Mapping[Key, str] | None
    """The digest of each earlier attempt; None where it is not known."""
    lines: Mapping[str, bytes] = field(default_factory=dict)
    """Settled runs as they were compacted, where they are at hand: comparing them is quick."""
    found: list[str] = field(default_factory=list)
    """What was wrong so far."""
    _runs: set[str] = field(default_factory=set)
    _attempts: set[Key] = field(default_factory=set)

    def see(self, key: str, text: bytes) -> str | None:
        """What is wrong with a file, in a sentence; None where it is as it was compacted."""
        wrong = self._wrong(key, text)
        if wrong is None:
            return None
        self.found.append(f"{self.name}/{key} was altered: {wrong}")
        return self.found[-1]

    @property
    def alone(self) -> bool:
        """Whether no file of any run has been shown."""
        return not (self._runs or self._attempts or self.found)

    def gone(self) -> Iterator[str]:
        """What the manifest names and nobody has shown, a sentence each.

        Where no file of a run is left, somebody has kept the compacted form alone, which is whole.
        """
        if self.alone:
            return
        for run, digest in self.manifest.runs.items():
            if digest is not None and run not in self._runs:
                yield self._gone(RECORD, run)
        for run, attempt in sorted((self.attempts or {}).keys() - self._attempts):
            yield self._gone(f"attempts/{attempt}/{ATTEMPT}", run)

    def _gone(self, file: str, run: str) -> str:
        return (
            f"{self.name} was altered: the {file} of run {self.label(run)} is gone, which the manifest names"
        )

    def _wrong(self, key: str, text: bytes) -> str | None:
        try:
            data = from_json(text)
            run, attempt = str(data["run_id"]), int(data["attempt"])
            same = self._settled(run, text, data) if is_record(key) else self._earlier((run, attempt), text)
        except (ValueError, TypeError, KeyError):
            return "it is no record"
        return None if same else f"it is not the record that the manifest names for run {self.label(run)}"

    def _settled(self, run: str, text: bytes, data: object) -> bool:
        if run not in self.manifest.runs:
            # Of an older spec: it does not count anywhere.
            return True
        if run in self._runs:
            # A copy in the place of another run.
            return False
        self._runs.add(run)
        line = self.lines.get(run)
        if line is not None and from_json(line) == data:
            return True
        return digest_of(canonical_line(text)) == self.manifest.runs[run]

    def _earlier(self, place: Key, text: bytes) -> bool:
        if place[0] not in self.manifest.runs or self.attempts is None:
            return True
        self._attempts.add(place)
        return digest_of(canonical_line(text)) == self.attempts.get(place)


def attempt_digests(path: Path, name: str) -> dict[Key, str]:
    """The digest of each earlier attempt in a compacted file.

    Raises:
        DataError: It is damaged.
    """
    return {key: digest_of(line) for key, line in keyed(read_lines(path, name), name)}
