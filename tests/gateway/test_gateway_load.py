"""Many streams at once through one gateway on one core."""

import asyncio
import json
import os
import time
from pathlib import Path

import aiohttp
import pytest

from tests.gateway.conftest import Kit
from tiltyard_gateway import GatewayConfig, GatewayProcess, RunTicket, scripted_upstreams
from tiltyard_gateway.scripted import Conversation, Script, ScriptedServer, Turn
from tiltyard_specs.usage import Usage

STREAMS = 200
USAGE = Usage(input=10, cache_read=20, cache_write=30, output=40)


@pytest.mark.slow
def test_two_hundred_streams_at_once(tmp_path: Path, kit: type[Kit]) -> None:
    """All come through whole, in about the time of one, and the gateway's memory stays small."""
    turn = Turn(text="word " * 200, chunk_delay=0.05, usage=USAGE)
    script = Script(conversations=(Conversation(turns=(turn,)),))
    with (
        ScriptedServer(script) as server,
        GatewayProcess(GatewayConfig(upstreams=scripted_upstreams(server.base_url))) as gateway,
    ):
        folder = gateway.open_slot("0")
        gateway.begin(
            "0", RunTicket(run_id="r", placebo_key=kit.PLACEBO, calls_path=tmp_path / "calls.jsonl")
        )
        started = time.monotonic()
        bodies = asyncio.run(ask_all(folder / "gw.sock", kit))
        seconds = time.monotonic() - started
        memory = int(Path(f"/proc/{gateway.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        meter = gateway.end("0")

    assert all(body.count(b"content_block_delta") >= 2 * 41 and b"message_stop" in body for body in bodies)
    assert [call.outcome for call in meter.calls] == ["ok"] * STREAMS
    assert meter.usage == Usage(
        input=2000, cache_read=4000, cache_write=6000, output=8000, cache_write_1h=0, reasoning=0
    )
    assert memory < 200e6
    assert seconds < 60


async def ask_all(socket: Path, kit: type[Kit]) -> list[bytes]:
    async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket), limit=0)) as session:

        async def ask() -> bytes:
            body = json.dumps(kit.message_body(stream=True))
            async with session.post(
                "http://gw/v1/messages", data=body, headers={"x-api-key": kit.PLACEBO}
            ) as answer:
                assert answer.status == 200
                return await answer.read()

        return await asyncio.gather(*(ask() for _ in range(STREAMS)))
