"""Masks keys in the logs of image builds, which quote whatever `prepare` and `setup` print."""

from collections.abc import Iterable
from pathlib import Path

from tiltyard_runner.masking import Masking
from tiltyard_runner.stream_masking import mask_file


def mask_build_logs(cache: Path, secrets: Iterable[str], *, since: float) -> None:
    """Mask the logs that were written to since then; one that cannot be masked is removed.

    Args:
        cache: The cache folder.
        secrets: The keys in use.
        since: Seconds since the epoch.
    """
    masking = Masking(secrets)
    for path in (cache / "logs").glob("*.log"):
        try:
            if path.stat().st_mtime >= since:
                mask_file(path, masking.data)
        except OSError:
            path.unlink(missing_ok=True)
