"""Starts `tiltyard` over and over, each time as a process that signals itself at a given point of its life.

A program of its own, so that it may fork: a start costs no imports, and the product needs no hook. A point is
the n-th event that matches a pattern, as Python tells its audit hooks: each change of the file system, each
request to the engine and the gateway, and each process, just before it is made.

Reads JSON lines {"args": [...], "out": FILE, "err": FILE, "signal": N or null, "at": PATTERN, "nth": N} and
answers each with {"code": exit code or minus the signal, "met": whether the point was reached}.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

_FILES = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "shutil.rmtree"}


def told(event: str, args: tuple[Any, ...]) -> str | None:
    """An event as a line that patterns are matched with; None for what changes nothing."""
    if event == "open":
        changes = args[0] != os.devnull and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        return f"open {args[0]}" if changes else None
    if event in _FILES:
        # A rename and a link are known by the name that they make.
        return f"{event} {args[1] if event in {'os.rename', 'os.link'} else args[0]}"
    if event == "http.client.send":
        line = bytes(args[1][:200]).partition(b"\r\n")[0].decode(errors="replace")
        return f"send {line}" if " HTTP/1." in line and not line.startswith("GET ") else None
    return f"spawn {' '.join(map(str, args[1]))}" if event == "subprocess.Popen" else None


class Doom:
    """Signals this process when its point comes."""

    def __init__(self, order: dict[str, Any], met: int) -> None:
        self._order = order
        self._left = order["nth"]
        self._met = met

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self._left and (line := told(event, args)) and re.search(self._order["at"], line):
            self._left -= 1
            if not self._left:
                os.write(self._met, b"!")
                os.kill(os.getpid(), self._order["signal"])


def child(order: dict[str, Any], met: int) -> None:
    """Be the command; it leaves by itself, as ever."""
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if order["signal"]:
        sys.addaudithook(Doom(order, met).hear)
    sys.argv = ["tiltyard", *order["args"]]
    main(order["args"])


def start(order: dict[str, Any]) -> dict[str, Any]:
    """One start, from fork to end."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        child(order, writing)
    os.close(writing)
    _, status = os.waitpid(pid, 0)
    with os.fdopen(reading, "rb") as pipe:
        return {"code": os.waitstatus_to_exitcode(status), "met": bool(pipe.read())}


if __name__ == "__main__":
    from tiltyard_cli import trial_run  # noqa: F401  # loaded once, for all starts
    from tiltyard_cli.main import main

    os.chdir(Path(sys.argv[1]))
    for text in sys.stdin:
        print(json.dumps(start(json.loads(text))), flush=True)  # noqa: T201  # its answer
