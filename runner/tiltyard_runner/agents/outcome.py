"""What to say of a run that ended without an answer, the same for every agent."""

import re

from tiltyard_runner.agents.model import AgentError, AgentOutput, ErrorKind
from tiltyard_runner.agents.streams import tail

MAX_MESSAGE = 500
SHELL_SIGNAL_BASE = 128
"""Shells and container engines tell a death by signal as this much more."""
_UNREADABLE = "The agent ended normally, but its output holds no result of the kind that was expected."


def error(kind: ErrorKind, message: str, status: int | None = None) -> AgentError:
    """An error with its message cut to what a table can hold; between words, for one may be a key."""
    message = " ".join(message.split())
    if len(message) > MAX_MESSAGE:
        kept = message[: MAX_MESSAGE - 3]
        message = f"{kept.rpartition(' ')[0] or kept}..."
    return AgentError(kind, status, message)


def no_answer() -> AgentError:
    """The agent ended as it should, and said nothing."""
    return error("no_answer", "The agent ended normally without an answer.")


def broken_off(output: AgentOutput) -> AgentError:
    """The agent's output has no end: by the time limit, by a signal, or because the process failed."""
    said = tail(output.stderr)
    because = f": {said}" if said else ""
    code = output.exit_code
    if output.timed_out:
        return interrupted(output)
    if code is None and _empty(output):
        return error("not_started", f"The agent's output is empty{because}")
    if code is None or code < 0 or code > SHELL_SIGNAL_BASE:
        return error("killed", f"The agent's output breaks off{_by_signal(code)}{because}")
    if code == 0:
        return no_answer() if _empty(output) else error("format", _UNREADABLE)
    if _empty(output):
        return error("not_started", f"The agent ended with exit code {code} before it did anything{because}")
    return error("crash", f"The agent ended with exit code {code} in the middle of its work{because}")


def interrupted(output: AgentOutput) -> AgentError:
    """Something from outside ended the agent."""
    if output.timed_out:
        return error("timeout", "The agent was stopped at its time limit.")
    return error("killed", "The agent was interrupted.")


def http_status(message: str) -> int | None:
    """The HTTP status that an error text names, such as `unexpected status 401 Unauthorized`."""
    match = re.search(r"\b(?:status|error|code)\b\W{0,3}([45]\d\d)\b|\(([45]\d\d)\)", message, re.IGNORECASE)
    return int(match[1] or match[2]) if match else None


def _by_signal(code: int | None) -> str:
    if code is None:
        return ""
    return f" by signal {-code if code < 0 else code - SHELL_SIGNAL_BASE}"


def _empty(output: AgentOutput) -> bool:
    return not output.stdout.exists() or output.stdout.stat().st_size == 0
