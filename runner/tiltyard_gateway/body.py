"""The body of a request, which the meter must read whole, though it comes from whom it does not trust.

What it may take is bounded on the way in: bytes of one request, bytes of one run, bytes after decompression,
and values. In between, other runs have their turn.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from tiltyard_gateway.contents import Body
from tiltyard_gateway.pending import Pending
from tiltyard_gateway.refused import RefusedError
from tiltyard_gateway.runs import Run
from tiltyard_gateway.values import MOST_VALUES, PIECE, ValueCounter, pieces

_DEFLATE_METHOD = 8
_AUTOMATIC = 32 + zlib.MAX_WBITS
"""zlib's own headers and gzip's."""


async def read_body(request: web.BaseRequest, limit: int, run: Run, pending: Pending) -> Body:
    """The whole request body, decompressed.

    All bodies of one run that are in memory at once may be twice as large as one: a flood must not fill it.
    """
    if (request.content_length or 0) > limit:
        raise _too_large(limit)
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        # Else the client waits for this word, some of them for ever.
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    parts: list[bytes] = []
    counter = ValueCounter()
    async with aclosing(_plain(request)) as plain:
        async for piece in plain:
            run.take_in(pending, len(piece))
            counter.feed(piece)
            _check(run, pending, counter, limit)
            parts.append(piece)
            if len(piece) == PIECE:
                await asyncio.sleep(0)
    return Body(b"".join(parts), counter.values, counter.members)


def _check(run: Run, pending: Pending, counter: ValueCounter, limit: int) -> None:
    if pending.body_size > limit:
        raise _too_large(limit)
    if run.body_bytes > 2 * limit:
        raise RefusedError(413, f"the run's request bodies are together larger than {2 * limit} bytes")
    if counter.values > MOST_VALUES:
        raise RefusedError(413, f"the request body holds more than {MOST_VALUES} values")


def _too_large(limit: int) -> RefusedError:
    return RefusedError(413, f"the request body is larger than {limit} bytes")


def _plain(request: web.BaseRequest) -> AsyncGenerator[bytes, None]:
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding not in {"identity", "gzip", "deflate"}:
        raise RefusedError(415, f"a request body in the encoding {encoding[:40]} cannot be read")
    return _identity(request) if encoding == "identity" else _inflated(request, encoding)


async def _identity(request: web.BaseRequest) -> AsyncGenerator[bytes, None]:
    async for chunk in request.content.iter_any():
        for piece in pieces(chunk):
            yield piece


async def _inflated(request: web.BaseRequest, encoding: str) -> AsyncGenerator[bytes, None]:
    """A piece at a time: a megabyte of gzip may hold a gigabyte."""
    decompressor = None
    try:
        async for chunk in request.content.iter_any():
            if decompressor is None:
                decompressor = zlib.decompressobj(_window(chunk))
            waiting = chunk
            while waiting and not decompressor.eof:
                yield decompressor.decompress(waiting, PIECE)
                waiting = decompressor.unconsumed_tail
        if decompressor is not None:
            yield decompressor.flush()
    except zlib.error as error:
        raise RefusedError(400, f"the request body is no {encoding}") from error
    if decompressor is not None and not (decompressor.eof and not decompressor.unused_data):
        raise RefusedError(400, f"the request body is no whole {encoding}, or more than one")


def _window(first: bytes) -> int:
    """Some clients send deflate without zlib's header."""
    is_gzip = first[:1] == b"\x1f"
    return _AUTOMATIC if is_gzip or first[0] & 0xF == _DEFLATE_METHOD else -zlib.MAX_WBITS
