"""What a caller may say about one start of a trial, beside the spec."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tiltyard_cluster.events import Event, Listener


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where mirrors of repos, locks and build logs lie: TILTYARD_CACHE, else the user's cache folder."""
    if "TILTYARD_CACHE" in environ:
        return Path(environ["TILTYARD_CACHE"]).absolute()
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tiltyard"


def _ignore(event: Event) -> None:
    """Listen to nothing."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a trial this time."""

    retry_failed: bool = False
    """Do runs again that ended without counting: infra, setup_failed, undelivered, unmetered, cancelled."""
    model_script: Path | None = None
    """Answer model calls from this script instead of a provider."""
    parallel: int | None = None
    """Runs at once, instead of the spec's."""
    listen: Listener = _ignore
    """Hears what happens."""
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """Where keys and settings come from."""
