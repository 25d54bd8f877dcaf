"""How the user started the command, so that every command we suggest works when it is pasted."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable

_NAME = "tiltyard"


def suggest(*words: str | os.PathLike[str]) -> str:
    """A command line that begins as the user's did: `.venv/bin/tiltyard report trial-results`."""
    return shlex.join([_program(), *(os.fspath(word) for word in words)])


def again(extra: Iterable[str] = ()) -> str:
    """The command line of this process, with more arguments."""
    return suggest(*sys.argv[1:], *extra)


def _program() -> str:
    """The bare name where the shell finds this very program under it, else the path that was typed."""
    typed = sys.argv[0]
    found = shutil.which(_NAME)
    if os.path.basename(typed) != _NAME or os.sep not in typed:  # noqa: PTH119  # what was typed, not a path yet
        return _NAME
    if found is not None and os.path.exists(typed) and os.path.samefile(found, typed):  # noqa: PTH110, PTH121
        return _NAME
    return typed
