"""CONNECT to hosts that the trial allows by name: passed on unread, recorded with its bytes."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from aiohttp import web

from tiltyard_gateway.gone import Gone
from tiltyard_gateway.pending import Pending
from tiltyard_gateway.refused import RefusedError
from tiltyard_gateway.upstream import environment_proxy, host_of

_PORTS = frozenset({80, 443})
_PORT = re.compile(r"[0-9]{1,5}")
_CHUNK = 64 * 1024
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Gate:
    """Which hosts are open."""

    allowed: frozenset[str]
    """`host` for the ports 80 and 443, `host:port` for that port alone."""
    metered: frozenset[str]
    """Hosts of model providers: the way to them is the meter."""

    def check(self, target: str) -> tuple[str, int]:
        """Host and port of a CONNECT request that may pass."""
        host, _, port = target.rpartition(":")
        host = host.lower().rstrip(".")
        if not host or not _PORT.fullmatch(port):
            raise RefusedError(400, f"CONNECT needs a host and a port, got {target[:200]!r}", "host")
        if host in self.metered:
            raise RefusedError(403, f"{host} is a model provider, reached through this gateway only", "host")
        by_name = host in self.allowed and int(port) in _PORTS
        if not by_name and f"{host}:{int(port)}" not in self.allowed:
            raise RefusedError(403, f"{host[:200]}:{port} is no host that the trial allows", "host")
        return host, int(port)


def gate(allow: tuple[str, ...], base_urls: list[str]) -> Gate:
    """The gate of a configuration."""
    hosts = frozenset(host for url in base_urls if (host := host_of(url)))
    return Gate(frozenset(name.lower().rstrip(".") for name in allow), hosts)


async def tunnel(
    request: web.BaseRequest, pending: Pending, target: tuple[str, int], *, connect: float, idle: float
) -> web.StreamResponse:
    """Connect, say so, and pass bytes both ways until both sides have ended."""
    try:
        async with asyncio.timeout(connect):
            there = await _dial(*target)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        why = str(error) or "no answer in time"
        raise RefusedError(502, f"cannot reach {target[0]}:{target[1]}: {why}", "host") from error
    pending.status = 200
    pending.sent_bytes = pending.received_bytes = 0
    here = _take_over(request)
    if here is None:
        there[1].transport.abort()
        return Gone()
    try:
        here[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_upward(here, there, pending, idle), _downward(there, here, pending, idle))
    except (OSError, TimeoutError):
        pass  # one side broke off or fell silent: the tunnel is over
    finally:
        for _, writer in (here, there):
            writer.transport.abort()
        if request.protocol is not None:
            request.protocol.connection_lost(None)  # the server's own view of a connection that left it
    return Gone()


async def _upward(here: _Streams, there: _Streams, pending: Pending, idle: float) -> None:
    async for size in _pump(here[0], there[1], idle):
        pending.sent_bytes = (pending.sent_bytes or 0) + size


async def _downward(there: _Streams, here: _Streams, pending: Pending, idle: float) -> None:
    async for size in _pump(there[0], here[1], idle):
        pending.received_bytes = (pending.received_bytes or 0) + size
        pending.mark_first_byte()


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, idle: float
) -> AsyncIterator[int]:
    while True:
        async with asyncio.timeout(idle):
            data = await reader.read(_CHUNK)
        if not data:
            with suppress(OSError):
                writer.write_eof()
            return
        writer.write(data)
        yield len(data)
        await writer.drain()


def _take_over(request: web.BaseRequest) -> _Streams | None:
    """The agent's connection as plain streams: from here on nothing of it is HTTP; None if it has left."""
    transport = request.transport
    if transport is None:
        return None
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _dial(host: str, port: int) -> _Streams:
    proxy = environment_proxy("https", host)
    if proxy is None:
        return await asyncio.open_connection(host, port)
    address = urlsplit(proxy)
    streams = await asyncio.open_connection(address.hostname, address.port or 80)
    head = f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n"
    if address.username is not None:
        login = f"{unquote(address.username)}:{unquote(address.password or '')}"
        head += f"Proxy-Authorization: Basic {base64.b64encode(login.encode()).decode()}\r\n"
    streams[1].write(f"{head}\r\n".encode())
    answer = await streams[0].readuntil(b"\r\n\r\n")
    if answer.split(maxsplit=2)[1:2] != [b"200"]:
        streams[1].transport.abort()
        raise OSError(f"the proxy answers {answer.splitlines()[0][:80].decode('utf-8', 'replace')}")
    return streams
