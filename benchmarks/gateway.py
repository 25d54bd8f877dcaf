"""What the gateway costs: time to the first byte, calls a second and memory, against a direct connection.

Both ways alternate in one run, against the same provider process, which answers from memory. Prints lines of
`NAME value unit`. The gateway is bound to one processor.

Usage: python benchmarks/gateway.py [--rounds N] [--streams N]
"""

import argparse
import asyncio
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tiltyard_gateway import GatewayConfig, GatewayProcess, RunTicket, Upstream
from tiltyard_specs.trial import Budget, PriceRow

KEY = "sk-placebo-benchmark"
USAGE = {"input_tokens": 100, "cache_read_input_tokens": 300, "output_tokens": 40}
EVENTS = 40
PACE = 0.05
WORKERS = 8
TOOLS_SIZE = 20_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def event(body: dict[str, object]) -> bytes:
    """A server-sent event as one HTTP chunk."""
    data = f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


START = event({"type": "message_start", "message": {"model": "claude-x", "usage": USAGE}})
DELTA = event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "word " * 8}})
END = event({"type": "message_delta", "usage": USAGE}) + event({"type": "message_stop"}) + b"0\r\n\r\n"


async def provide() -> None:
    """The provider: `/slow` paces its events, any other path answers at once."""
    server = await asyncio.start_server(_converse, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while head := await _request(reader):
        writer.write(HEAD + START)
        for _ in range(EVENTS):
            if b"/slow" in head:
                await asyncio.sleep(PACE)
            writer.write(DELTA)
        writer.write(END)
        await writer.drain()
    writer.close()


async def _request(reader: asyncio.StreamReader) -> bytes:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length"))
        await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return b""
    return head.split(b"\r\n", 1)[0]


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the slot's socket."""

    def __init__(self, path: str) -> None:
        super().__init__("gateway")
        self._path = path

    def connect(self) -> None:
        """Open the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


Connect = Callable[[], http.client.HTTPConnection]


def request_body(size: int) -> bytes:
    """As an agent's: tools and messages, of about this size."""
    tools = [
        {"name": f"t{n}", "description": "x" * 900, "input_schema": {"type": "object"}} for n in range(20)
    ]
    messages = [{"role": "user", "content": [{"type": "text", "text": "word " * 200}]}]
    fitting = max(1, (size - TOOLS_SIZE) // 1_050)
    body = {"model": "claude-x", "max_tokens": 1000, "stream": True, "messages": messages * fitting}
    return json.dumps(body | ({"tools": tools} if size > TOOLS_SIZE else {})).encode()


def first_byte(connection: http.client.HTTPConnection, body: bytes) -> float:
    """Seconds from the request to the first byte of the answer's body; the rest is read, too."""
    began = time.perf_counter()
    connection.request("POST", "/v1/messages", body, {"x-api-key": KEY, "Content-Type": "application/json"})
    response = connection.getresponse()
    response.read(1)
    seconds = time.perf_counter() - began
    response.read()
    return seconds


def compare_first_bytes(direct: Connect, metered: Connect, body: bytes, rounds: int) -> dict[str, float]:
    """The direct way and what the gateway adds, in milliseconds; the two ways alternate.

    The median is what an agent meets. It depends on what else the machine does; the least time does so least.
    """
    ways = direct(), metered()
    times = [(first_byte(ways[0], body), first_byte(ways[1], body)) for _ in range(rounds)]
    for way in ways:
        way.close()
    straight, through = zip(*times[rounds // 10 :], strict=True)
    return {
        "direct": statistics.median(straight) * 1000,
        "added": (statistics.median(through) - statistics.median(straight)) * 1000,
        "added_least": (min(through) - min(straight)) * 1000,
    }


def calls_per_second(connect: Connect, body: bytes, calls: int) -> float:
    """Calls a second of some workers together."""

    def work(_: int) -> None:
        connection = connect()
        for _ in range(calls // WORKERS):
            first_byte(connection, body)
        connection.close()

    began = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))
    return calls / (time.perf_counter() - began)


async def hold_streams(target: str | int, count: int, body: bytes) -> float:
    """Seconds for many paced streams at once, over a port or a unix socket."""
    head = f"POST /v1/messages HTTP/1.1\r\nHost: g\r\nx-api-key: {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
    if isinstance(target, int):
        head = head.replace("/v1/messages", "/slow/v1/messages")

    async def one() -> None:
        opening = (
            asyncio.open_connection("127.0.0.1", target)
            if isinstance(target, int)
            else asyncio.open_unix_connection(target)
        )
        reader, writer = await opening
        writer.write(head.encode() + body)
        await reader.readuntil(b"message_stop")
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(count)))
    return time.perf_counter() - began


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tell(name: str, value: float, unit: str) -> None:
    """One line of the result."""
    print(f"{name} {value:.3f} {unit}", flush=True)


def measure(port: int, rounds: int, streams: int, folder: Path) -> None:
    """All figures, with a budget and prices in force as in a real trial."""
    upstream = Upstream(base_url=f"http://127.0.0.1:{port}/v1", key="benchmark-key")
    row = PriceRow(input=3, output=15, cache_read=0.3, cache_write=3.75)
    config = GatewayConfig(
        upstreams={"anthropic": upstream}, prices={"claude-x": row}, budget=Budget(usd=1e6)
    )
    with GatewayProcess(config) as gateway:
        os.sched_setaffinity(gateway.pid, {min(os.sched_getaffinity(gateway.pid))})
        path = str(gateway.open_slot("0") / "gw.sock")
        gateway.begin("0", RunTicket(run_id="b", placebo_key=KEY, calls_path=folder / "calls.jsonl"))
        idle = memory_mb(gateway.pid)
        direct: Connect = lambda: http.client.HTTPConnection("127.0.0.1", port)  # noqa: E731
        metered: Connect = lambda: UnixConnection(path)  # noqa: E731
        for name, size in (("1k", 1_000), ("100k", 100_000), ("500k", 500_000)):
            for what, value in compare_first_bytes(direct, metered, request_body(size), rounds).items():
                tell(f"first_byte_{what}_{name}", value, "ms")
        rates = [(calls_per_second(way, request_body(1_000), 4 * rounds)) for way in (direct, metered) * 3]
        tell("calls_direct", statistics.median(rates[0::2]), "calls/s")
        tell("calls_metered", statistics.median(rates[1::2]), "calls/s")
        gateway.end("0")
        slow = upstream.model_copy(update={"base_url": f"http://127.0.0.1:{port}/slow/v1"})
        ticket = RunTicket(
            run_id="s", placebo_key=KEY, calls_path=folder / "s.jsonl", upstreams={"anthropic": slow}
        )
        gateway.begin("0", ticket)
        straight = asyncio.run(hold_streams(port, streams, request_body(1_000)))
        used = cpu_seconds(gateway.pid)
        seconds = asyncio.run(hold_streams(path, streams, request_body(1_000)))
        tell(f"streams_{streams}_direct", straight, "s")
        tell(f"streams_{streams}_metered", seconds, "s")
        tell(f"streams_{streams}_cpu", (cpu_seconds(gateway.pid) - used) / seconds * 100, "%_of_one_core")
        outcomes = {call.outcome for call in gateway.end("0").calls}
        tell("streams_whole", float(outcomes == {"ok"}), "bool")
        tell("memory_idle", idle, "MB")
        tell("memory_peak", memory_mb(gateway.pid, "VmHWM"), "MB")


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the provider, measure, and stop it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="requests each way, per figure")
    parser.add_argument("--streams", type=int, default=200, help="streams at once")
    parser.add_argument("--provide", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.provide:
        asyncio.run(provide())
        return 0
    command = [sys.executable, __file__, "--provide"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as provider,
    ):
        try:
            port = int(provider.stdout.readline()) if provider.stdout else 0
            measure(port, given.rounds, given.streams, Path(folder))
        finally:
            provider.terminate()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
