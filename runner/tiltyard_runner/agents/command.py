"""Turns a prompt into a command line, so that no prompt is ever read as anything but a prompt."""

import shlex
from collections.abc import Sequence

from tiltyard_runner.agents.model import SCRATCH, Launch, LaunchFile
from tiltyard_specs.errors import DataError

MAX_ARGUMENT_BYTES = 100_000
"""Linux refuses an argument of 128 KiB and more; quoting may add some."""
PROMPT_FILE = f"{SCRATCH}/prompt"


def checked_prompt(prompt: str) -> str:
    """The prompt, unless no program can take it as an argument or from a file."""
    if "\0" in prompt:
        raise DataError("The prompt holds a NUL character, which no command line can carry; remove it.")
    return prompt


def custom_command(command: str, prompt: str) -> tuple[str, ...]:
    """A user's command with `{prompt}` substituted shell-quoted."""
    script = command.replace("{prompt}", shlex.quote(checked_prompt(prompt)))
    if len(script.encode()) > MAX_ARGUMENT_BYTES:
        raise DataError(
            f"The command with its prompt is {len(script.encode())} bytes; a custom command can take at most "
            f"{MAX_ARGUMENT_BYTES}. Put the text into a file of the workspace and name it in the prompt."
        )
    return ("sh", "-c", script)


def fits_argument(prompt: str) -> bool:
    """Whether the system takes the prompt as one argument."""
    return len(prompt.encode()) <= MAX_ARGUMENT_BYTES


def from_file(argv: Sequence[str], prompt: str, env: dict[str, str]) -> Launch:
    """A launch that gives the prompt on standard input, from a file that ends, never from an open pipe."""
    script = f'exec "$@" < {shlex.quote(PROMPT_FILE)}'
    prompt_file = LaunchFile(PROMPT_FILE, checked_prompt(prompt).encode())
    return Launch(("sh", "-c", script, "sh", *argv), env, (prompt_file,))
