"""What can go wrong while images are made.

UnavailableError (69)
├── ImageBuildError      a layer could not be built; its log says why
└── NoBaseImageError     Debian can be neither pulled nor bootstrapped here
DataError (65)
└── RepoError            a repository or a ref that a spec names does not exist
TiltyardError
└── SetupFailedError (3) an arm's own prepare or setup command failed
"""

from pathlib import Path

from tiltyard_specs.errors import DataError, TiltyardError, UnavailableError
from tiltyard_specs.exit_codes import ExitCode


class ImageBuildError(UnavailableError):
    """A layer could not be built. The message ends with the log's last lines and its path."""


class NoBaseImageError(UnavailableError):
    """Debian can be neither pulled from a registry nor bootstrapped on this machine."""


class RepoError(DataError):
    """A repository or ref named in a spec does not exist or cannot be read."""


class SetupFailedError(TiltyardError):
    """An arm's `prepare` or `setup` command failed: the arm's runs are recorded as setup_failed."""

    exit_code = ExitCode.UNHEALTHY

    def __init__(self, command: str, exit_code: int | None, log_tail: str, log_path: Path) -> None:
        how = "ran out of time" if exit_code is None else f"exited with {exit_code}"
        super().__init__(f"The setup command {command!r} {how}. Its log is {log_path}; it ends:\n{log_tail}")
        self.command = command
        self.status = exit_code
        """Exit status of the command; None when it ran out of time."""
        self.log_tail = log_tail
        self.log_path = log_path
