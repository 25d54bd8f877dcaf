"""The gateway process: from its configuration on stdin to the removal of its last socket."""

import asyncio
import gc
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from aiohttp import web

from tiltyard_gateway.amounts import Amount, Cap
from tiltyard_gateway.budget import Budget
from tiltyard_gateway.config import GatewayConfig
from tiltyard_gateway.control import Control
from tiltyard_gateway.holds import Holds
from tiltyard_gateway.leased import leased_cap
from tiltyard_gateway.lifetime import stop_signal
from tiltyard_gateway.limits import BACKLOG, raise_open_files
from tiltyard_gateway.memory import keep_freed_memory
from tiltyard_gateway.relay import Relay
from tiltyard_gateway.slots import Slots
from tiltyard_gateway.upstream import Connections

CONTROL_NAME = "control.sock"


async def serve(config: GatewayConfig, folder: Path) -> None:
    """Serve until stdin ends or SIGTERM comes, then settle what is in flight and leave nothing behind."""
    stop = stop_signal(signal.SIGTERM, until_stdin_closes=True)
    try:
        async with Connections(config.timeouts) as connections:
            slots = Slots(
                folder,
                config,
                Relay(config, connections, _budget(config), Holds(longest=config.timeouts.hold)),
            )
            runner = web.AppRunner(Control(slots).application(), access_log=None, shutdown_timeout=1.0)
            await runner.setup()
            await _listen(runner, folder / CONTROL_NAME)
            gc.freeze()  # what is there now stays: no collection amid a request need look at it
            print(json.dumps({"ready": True, "pid": os.getpid()}), flush=True)  # noqa: T201 - the driver waits for it
            await stop.wait()
            await slots.close_all()
            await runner.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _budget(config: GatewayConfig) -> Budget:
    given = config.budget
    cap = Cap.of(given.usd, given.tokens) if given else Cap()
    spent = Amount.of(config.spent.usd, config.spent.tokens)
    leased = config.leased and given is not None
    return Budget(leased_cap(cap, 0) if leased else cap, spent, max_wait=config.timeouts.room, leased=leased)


async def _listen(runner: web.AppRunner, socket: Path) -> None:
    await web.UnixSite(runner, socket, backlog=BACKLOG).start()
    os.chmod(socket, 0o600)  # noqa: PTH101 - at once, on a local path: no blocking to speak of


def main() -> int:
    """Read one line of configuration from stdin and serve."""
    # Ctrl-C reaches the whole process group; the driver alone decides when the gateway ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    config = GatewayConfig.model_validate_json(sys.stdin.buffer.readline())
    if config.folder is None:
        sys.stderr.write("the configuration names no folder for the sockets\n")
        return 64
    raise_open_files()
    keep_freed_memory()
    asyncio.run(serve(config, config.folder))
    return 0
