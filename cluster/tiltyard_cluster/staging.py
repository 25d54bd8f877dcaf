"""The folder of an attempt under way, and what a later start needs to know to finish a killed one."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from tiltyard_cluster.folder import in_use
from tiltyard_cluster.plan import PlannedRun

STAGING = ".staging"
_BEGUN = "begun.json"


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt that has a staging folder."""

    run: PlannedRun
    attempt: int
    folder: Path

    def written_down(self, name: str) -> bytes | None:
        """The record that the attempt came to, where it got that far."""
        path = self.folder / name
        return path.read_bytes() if path.exists() else None


def begin(staging: Path, run: PlannedRun, attempt: int) -> Begun:
    """Make the folder of an attempt. It says whose it is, because a later start may plan other runs."""
    folder = staging / f"{run.run_id}.{attempt}"
    # Never the results folder above it: one that is gone must not come back without what was in it.
    staging.mkdir(exist_ok=True)
    folder.mkdir()
    begun = Begun(run, attempt, folder)
    # Against a kill it need not be on the disk; after a power failure there is no attempt left to finish.
    (folder / _BEGUN).write_text(json.dumps({"run": asdict(run), "attempt": attempt}))
    return begun


def left_behind(staging: Path) -> list[tuple[Path, Begun | None]]:
    """The folders in a staging folder; None for one that was killed before it said whose it is."""
    folders = sorted(path for path in staging.glob("*") if path.is_dir())
    return [(folder, _read(folder)) for folder in folders]


def unsettled(home: Path) -> tuple[str, ...]:
    """One sentence on the attempts that a killed start left in a results folder, if there are any."""
    count = sum(1 for _ in (home / STAGING).glob(f"*/{_BEGUN}"))
    if not count or in_use(home):
        return ()
    attempts = "1 attempt of a killed start is" if count == 1 else f"{count} attempts of a killed start are"
    return (f"{attempts} not counted yet; start the trial again",)


def _read(folder: Path) -> Begun | None:
    try:
        data = json.loads((folder / _BEGUN).read_bytes())
        return Begun(PlannedRun(**data["run"]), int(data["attempt"]), folder)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def write_down(folder: Path, name: str, text: bytes) -> None:
    """Write a small file whole or not at all."""
    temporary = folder / f".{name}"
    with temporary.open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / name)
