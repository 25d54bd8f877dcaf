"""The request to the provider, sent once, and its answer, relayed as it comes."""

import aiohttp
from aiohttp import web
from aiohttp.http import HttpVersion11
from multidict import CIMultiDict

from tiltyard_gateway.admission import Destination, refusal
from tiltyard_gateway.editing import Edited
from tiltyard_gateway.gone import Gone
from tiltyard_gateway.holds import Passage
from tiltyard_gateway.pending import Outcome, Pending
from tiltyard_gateway.runs import Run
from tiltyard_gateway.sse import Sieve, SseParser
from tiltyard_gateway.upstream import (
    Address,
    Connections,
    locate,
    proxy_for,
    request_headers,
    response_headers,
)
from tiltyard_gateway.wires import Match, Reading
from tiltyard_gateway.wires.base import parse_object, parse_objects

_MAX_COPY = 8 * 1024 * 1024
_MAX_ERROR = 1024 * 1024
_FIRST_ERROR_STATUS = 400
_HUNG_UP = "the agent hung up"


class Exchange:
    """The request to the provider and its answer."""

    def __init__(
        self,
        request: web.BaseRequest,
        match: Match,
        run: Run,
        pending: Pending,
        passage: Passage,
        *,
        keep: int,
    ) -> None:
        self._request = request
        self._match = match
        self._run = run
        self._pending = pending
        self._keep = keep
        self._passage = passage
        self._response: web.StreamResponse | None = None

    async def run(
        self, connections: Connections, destination: Destination, edited: Edited
    ) -> web.StreamResponse:
        """Send the request on, once, and relay the answer."""
        address = locate(
            destination.upstream.base_url,
            edited.rest,
            self._request.rel_url.raw_query_string,
            keep_key=destination.key is None,
        )
        session = connections.session(address.socket)
        self._run.send(self._pending)
        self._passage.send()
        try:
            async with session.request(
                self._request.method,
                address.url,
                headers=self._headers(destination),
                data=edited.body or None,
                allow_redirects=False,
                proxy=proxy_for(destination.upstream, address),
            ) as answer:
                return await self._answer(answer, edited)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            return self._fail("error", f"cannot reach {_host(address)}: {error}")
        except (aiohttp.ClientError, TimeoutError) as error:
            return self._fail("cut", f"{_host(address)} broke off: {str(error) or type(error).__name__}")

    def _headers(self, destination: Destination) -> CIMultiDict[str]:
        extra = {} if destination.key is None else self._match.wire.key_headers(destination.key)
        if destination.upstream.scripted:
            extra["x-tiltyard-run"] = f"{self._run.ticket.run_id}/{self._run.ticket.attempt}"
        return request_headers(self._request.headers, extra, keep_keys=destination.key is None)

    async def _answer(self, answer: aiohttp.ClientResponse, edited: Edited) -> web.StreamResponse:
        self._passage.heard(answer.status, answer.headers)
        self._pending.status = answer.status
        self._pending.reading = self._match.wire.reading()
        if answer.status >= _FIRST_ERROR_STATUS:
            return await self._error(answer)
        response = await self._begin(answer)
        if answer.content_type == "text/event-stream":
            sieve = Sieve(edited.hidden) if edited.hidden else None
            finished = await self._stream(answer, response, self._pending.reading, sieve)
        else:
            finished = await self._body(answer, response, self._pending.reading)
        # Before the agent sees the end: what it has got whole is written down already.
        self._settle(finished=finished)
        await response.write_eof()
        return response

    async def _begin(self, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=response_headers(answer.headers))
        if self._request.version >= HttpVersion11:
            response.enable_chunked_encoding()
        self._response = response
        await response.prepare(self._request)
        return response

    async def _stream(
        self,
        answer: aiohttp.ClientResponse,
        response: web.StreamResponse,
        reading: Reading,
        sieve: Sieve | None,
    ) -> bool:
        parser = SseParser()
        async for chunk in answer.content.iter_any():
            self._pending.mark_first_byte()
            passed = sieve.feed(chunk) if sieve else chunk
            try:
                if passed:
                    await response.write(passed)
            finally:
                # After it, so that the agent does not wait; but also if it leaves at what it has just got.
                for event in parser.feed(chunk):
                    reading.on_event(event.name, event.data)
        for event in parser.close():
            reading.on_event(event.name, event.data)
        if sieve and (rest := sieve.close()):
            await response.write(rest)
        return reading.finished

    async def _body(
        self, answer: aiohttp.ClientResponse, response: web.StreamResponse, reading: Reading
    ) -> bool:
        copy = bytearray()
        async for chunk in answer.content.iter_any():
            self._pending.mark_first_byte()
            await response.write(chunk)
            if len(copy) <= _MAX_COPY:
                copy += chunk
        if len(copy) <= _MAX_COPY:
            for body in parse_objects(bytes(copy)):
                reading.on_body(body)
        return True

    async def _error(self, answer: aiohttp.ClientResponse) -> web.Response:
        """A refusal of the provider. It is short, so it is read whole: it may quote the real key."""
        body = bytearray()
        async for chunk in answer.content.iter_any():
            self._pending.mark_first_byte()
            body += chunk
            if len(body) > _MAX_ERROR:
                break
        text = self._run.redactor.text(body.decode("utf-8", "replace"))
        reading = self._match.wire.reading()
        reading.on_body(parse_object(text.encode()))
        self._pending.reading = reading
        self._run.settle(self._pending, "error", message=reading.error or text or None)
        return web.Response(
            status=answer.status, headers=response_headers(answer.headers), body=text.encode()
        )

    def _settle(self, *, finished: bool) -> None:
        reading = self._pending.reading
        if self._match.route.kind == "free":
            self._run.settle(self._pending, "free", keep=self._keep)
        elif reading and reading.error:
            self._run.settle(self._pending, "error")
        elif finished:
            self._run.settle(self._pending, "ok")
        else:
            self._run.settle(self._pending, "cut", message="the stream ended before its last event")

    def _fail(self, outcome: Outcome, message: str) -> web.StreamResponse:
        """No answer, or half of one. Half an answer is broken off, not ended: it must not look whole."""
        transport = self._request.transport
        if transport is None or transport.is_closing():
            settle_hung_up(self._run, self._pending, keep=self._keep)
            return Gone()
        if self._response is None:
            self._pending.status = 502
            self._run.settle(self._pending, outcome, message=message)
            return refusal(self._request, self._match, 502, message)
        self._run.settle(self._pending, outcome, message=message)
        transport.abort()
        return self._response


def settle_hung_up(run: Run, pending: Pending, *, keep: int) -> None:
    """CLIs leave at the last event without waiting for the end of the body: such a call is whole."""
    if pending.reading and pending.reading.finished:
        run.settle(pending, "error" if pending.reading.error else "ok")
    elif pending.sent:
        run.settle(pending, "hung_up", message=_HUNG_UP)
    else:
        moment = "while its request was held back" if pending.worst else "before its request was complete"
        run.settle(pending, "refused", message=f"{_HUNG_UP} {moment}", keep=keep)


def _host(address: Address) -> str:
    return address.socket or f"{address.url.host}:{address.url.port}"
