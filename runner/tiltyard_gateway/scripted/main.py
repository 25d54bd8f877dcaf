"""The command line of the scripted model server."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tiltyard_gateway.scripted.loader import load_script, parse_line
from tiltyard_gateway.scripted.script import Script
from tiltyard_specs.errors import TiltyardError, UnavailableError


def run_script(file: Path, *, port: int = 0, until_stdin_closes: bool = False) -> None:
    """Serve a script file on 127.0.0.1 until SIGINT or SIGTERM; port 0 takes a free one."""
    _serve(load_script(file), port=port, until_stdin_closes=until_stdin_closes)


def _serve(script: Script, *, port: int, until_stdin_closes: bool) -> None:
    # Only when a server is wanted: a driver has both of these modules in memory for nothing.
    import asyncio  # noqa: PLC0415

    from tiltyard_gateway.scripted.server import serve  # noqa: PLC0415

    try:
        asyncio.run(serve(script, host="127.0.0.1", port=port, until_stdin_closes=until_stdin_closes))
    except OSError as error:
        raise UnavailableError(f"port {port} cannot be used: {error.strerror}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m tiltyard_gateway.scripted FILE [--port N]`."""
    parser = argparse.ArgumentParser(prog="tiltyard_gateway.scripted", description=__doc__)
    parser.add_argument("file", type=Path, help="the model script; - reads one line of JSON from stdin")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when stdin closes, too")
    given = parser.parse_args(arguments)
    try:
        is_line = given.file == Path("-")
        script = parse_line(sys.stdin.buffer.readline()) if is_line else load_script(given.file)
        _serve(script, port=given.port, until_stdin_closes=given.until_stdin_closes)
    except TiltyardError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    return 0
