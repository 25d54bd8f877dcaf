"""The scripted model server as a process, for the driver and for tests."""

import json
from pathlib import Path
from types import TracebackType
from typing import Self

from tiltyard_gateway.process import HelperProcess
from tiltyard_gateway.scripted.loader import load_script
from tiltyard_gateway.scripted.script import Script
from tiltyard_specs.errors import UsageError

_ANNOUNCEMENT = "listening on "


class ScriptedServer:
    """Runs a script as long as its with statement lasts.

    A script file with mistakes raises `DataError` before anything is started.
    """

    def __init__(self, script: Path | Script) -> None:
        self._script = load_script(script) if isinstance(script, Path) else script
        self._process: HelperProcess | None = None

    def __enter__(self) -> Self:
        # Over stdin and not through a file, which would stay behind if this process is killed.
        line = json.dumps(self._script.model_dump(mode="json", exclude_defaults=True))
        self._process = HelperProcess(
            "tiltyard_gateway.scripted",
            "-",
            "--until-stdin-closes",
            name="the scripted model server",
            first_line=line,
        ).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            self._process.stop()

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT`, without the version segment."""
        if self._process is None:
            raise UsageError("the scripted model server has not been started: use it in a with statement")
        return self._process.ready_line.removeprefix(_ANNOUNCEMENT)

    def alive(self) -> bool:
        """Whether the server still runs."""
        return self._process is not None and self._process.alive()
