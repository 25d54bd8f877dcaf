"""A helper process that lives as long as its parent.

It gets a line on stdin, says on stdout that it is ready, and ends when its stdin closes.
"""

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO, Self

from tiltyard_specs.errors import UnavailableError

# Keys that the user keeps in the environment are no business of a helper; what Python and TLS need is.
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "VIRTUAL_ENV")
_KEPT_PREFIXES = ("PYTHON",)
_KEPT_SUFFIXES = ("_proxy", "_PROXY")
_STDERR_LINES = 30


class HelperProcess:
    """A Python module run as a child process, as a context manager."""

    def __init__(
        self, module: str, *arguments: str, name: str, first_line: str = "", start_timeout: float = 60.0
    ) -> None:
        self._command = [sys.executable, "-m", module, *arguments]
        self._name = name
        self._first_line = first_line
        self._timeout = start_timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: deque[str] = deque(maxlen=_STDERR_LINES)
        self.ready_line = ""

    def __enter__(self) -> Self:
        self.start()
        try:
            self.await_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def start(self) -> None:
        """Start it without waiting until it is ready; whoever calls this calls `stop`."""
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=helper_environment(os.environ, sys.path),
            process_group=0,  # Ctrl-C in the terminal is not for it
        )
        threading.Thread(target=self._drain, args=(self._process.stderr,), daemon=True).start()
        self._send_first_line(self._process)

    def await_ready(self) -> None:
        """Wait until it says that it is ready.

        Raises:
            UnavailableError: It died before, or takes too long.
        """
        if self._process is not None and not self.ready_line:
            self.ready_line = self._await_ready(self._process)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The child's process id."""
        if self._process is None:
            raise UnavailableError(f"{self._name} has not been started")
        return self._process.pid

    def alive(self) -> bool:
        """Whether the child still runs."""
        return self._process is not None and self._process.poll() is None

    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        return "\n".join(self._errors)

    def stop(self, timeout: float = 10.0) -> None:
        """Close its stdin, which ends it; kill it if that takes too long."""
        process = self._process
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None and not pipe.closed:
                _close_quietly(pipe)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _send_first_line(self, process: "subprocess.Popen[bytes]") -> None:
        if process.stdin is None or not self._first_line:
            return
        try:
            process.stdin.write(self._first_line.encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return  # it died: what it said is told by `_await_ready`

    def _await_ready(self, process: "subprocess.Popen[bytes]") -> str:
        timer = threading.Timer(self._timeout, process.kill)
        timer.start()
        try:
            line = process.stdout.readline().decode() if process.stdout else ""
        finally:
            timer.cancel()
        if not line:
            process.wait()
            raise UnavailableError(f"{self._name} did not start: {self.last_words() or 'it said nothing'}")
        return line.strip()

    def _drain(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._errors.append(line.decode("utf-8", "replace").rstrip())


def helper_environment(environ: Mapping[str, str], path: Sequence[str]) -> dict[str, str]:
    """The parent's environment without its keys, and with its import path."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES) or name.endswith(_KEPT_SUFFIXES)
    }
    return kept | {"PYTHONPATH": os.pathsep.join(entry for entry in path if entry)}


def _close_quietly(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return
