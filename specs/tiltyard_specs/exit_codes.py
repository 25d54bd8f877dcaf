"""The one table of exit codes, printed by `tiltyard help exit-codes`."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the exit status of every `tiltyard` command means."""

    OK = 0
    FAIL = 1
    INCONCLUSIVE = 2
    UNHEALTHY = 3
    USAGE = 64
    DATA = 65
    UNAVAILABLE = 69
    INTERRUPTED = 130


MEANING: dict[ExitCode, str] = {
    ExitCode.OK: "pass, done, SWITCH, nothing regressed",
    ExitCode.FAIL: "fail, regressed, KEEP",
    ExitCode.INCONCLUSIVE: "inconclusive, NOT YET",
    ExitCode.UNHEALTHY: "unhealthy: setup failed, a treatment was not delivered, or too many runs were lost",
    ExitCode.USAGE: "wrong usage of a command",
    ExitCode.DATA: "bad spec or data",
    ExitCode.UNAVAILABLE: "something needed is not available here: an engine, a store, a key, an image",
    ExitCode.INTERRUPTED: "interrupted; finished runs are kept",
}
