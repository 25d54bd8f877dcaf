"""The error tree. Caught once, at the edge of the command line.

TiltyardError               exit code of its class, one sentence for the user
├── UsageError              64: a command was called wrongly
├── DataError               65: a spec or a file holds something wrong
├── UnavailableError        69: an engine, store, key or image is missing on this machine
└── InterruptedTrialError   130: the user stopped it; finished work is kept
"""

from tiltyard_specs.exit_codes import ExitCode


class TiltyardError(Exception):
    """Root of all errors that a user reads: what is wrong, the value, what to do."""

    exit_code: ExitCode = ExitCode.FAIL


class UsageError(TiltyardError, ValueError):
    """A command or public function was called wrongly."""

    exit_code = ExitCode.USAGE


class DataError(TiltyardError, ValueError):
    """A spec or a data file holds something wrong."""

    exit_code = ExitCode.DATA


class UnavailableError(TiltyardError, RuntimeError):
    """Something that this machine should offer is missing."""

    exit_code = ExitCode.UNAVAILABLE


class InterruptedTrialError(TiltyardError):
    """The user stopped the trial before its end; what finished is kept."""

    exit_code = ExitCode.INTERRUPTED
