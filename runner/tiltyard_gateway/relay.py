"""One admitted request: sent on once with the real key, relayed as the answer comes, and settled."""

from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from aiohttp.http import HttpVersion11

from tiltyard_gateway.admission import Destination, RefusedError, admit, read_body, refusal
from tiltyard_gateway.config import GatewayConfig
from tiltyard_gateway.runs import Outcome, Pending, Run
from tiltyard_gateway.sse import SseParser
from tiltyard_gateway.upstream import (
    Address,
    Connections,
    locate,
    proxy_for,
    request_headers,
    response_headers,
)
from tiltyard_gateway.wires import Match, Reading, find_route
from tiltyard_gateway.wires.base import parse_object

_MAX_COPY = 8 * 1024 * 1024
_MAX_ERROR = 1024 * 1024
_FIRST_ERROR_STATUS = 400
_HUNG_UP = "the agent hung up"
_GREETINGS = frozenset({"/", "/api/hello"})
"""Paths by which CLIs ask whether somebody is there."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Answers the requests of all slots."""

    config: GatewayConfig
    connections: Connections

    async def handle(self, request: web.BaseRequest, run: Run | None) -> web.StreamResponse:
        """Answer one request of the run that owns the slot; without a run nothing is served or recorded."""
        path = request.rel_url.raw_path
        match = find_route(request.method, path, request.headers)
        if run is None:
            return refusal(request, match, 403, "no run owns this slot now")
        pending = run.start(request.method, path, match.wire if match else None, _breaker(request))
        keep = self.config.max_unbilled
        try:
            if request.method in {"HEAD", "GET"} and path in _GREETINGS:
                pending.status = 200
                run.settle(pending, "free", keep=keep)
                return web.Response(text="tiltyard gateway\n")
            return await self._pass_on(request, match, run, pending)
        except RefusedError as refused:
            pending.status = refused.status
            run.settle(pending, "refused", message=refused.message, keep=keep)
            return refusal(request, match, refused.status, refused.message)
        finally:
            # The agent hung up, unless it is settled already.
            _settle_hung_up(run, pending, keep=keep)

    async def _pass_on(
        self, request: web.BaseRequest, match: Match | None, run: Run, pending: Pending
    ) -> web.StreamResponse:
        found, destination = admit(request, match, run)
        body = await read_body(request, self.config.max_body)
        _inquire(request, found, pending, body)
        return await _Exchange(self, request, found, run, pending).run(destination, body)


class _Exchange:
    """The request to the provider and its answer."""

    def __init__(
        self, relay: Relay, request: web.BaseRequest, match: Match, run: Run, pending: Pending
    ) -> None:
        self._relay = relay
        self._request = request
        self._match = match
        self._run = run
        self._pending = pending
        self._response: web.StreamResponse | None = None

    async def run(self, destination: Destination, body: bytes) -> web.StreamResponse:
        """Send the request on, once, and relay the answer."""
        upstream, key = destination
        address = locate(upstream.base_url, self._match.rest, self._request.rel_url.raw_query_string)
        extra = self._match.wire.key_headers(key)
        if upstream.scripted:
            extra["x-tiltyard-run"] = f"{self._run.ticket.run_id}/{self._run.ticket.attempt}"
        session = self._relay.connections.session(address.socket)
        self._pending.sent = True
        try:
            async with session.request(
                self._request.method,
                address.url,
                headers=request_headers(self._request.headers, extra),
                data=body or None,
                allow_redirects=False,
                proxy=proxy_for(upstream, address),
            ) as answer:
                return await self._answer(answer)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            return self._fail("error", f"cannot reach {_host(address)}: {error}")
        except (aiohttp.ClientError, TimeoutError) as error:
            return self._fail("cut", f"{_host(address)} broke off: {str(error) or type(error).__name__}")

    async def _answer(self, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        self._pending.status = answer.status
        self._pending.reading = self._match.wire.reading()
        if answer.status >= _FIRST_ERROR_STATUS:
            return await self._error(answer)
        response = await self._begin(answer)
        if answer.content_type == "text/event-stream":
            finished = await self._stream(answer, response, self._pending.reading)
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
        self, answer: aiohttp.ClientResponse, response: web.StreamResponse, reading: Reading
    ) -> bool:
        parser = SseParser()
        async for chunk in answer.content.iter_any():
            self._pending.mark_first_byte()
            for event in parser.feed(chunk):
                reading.on_event(event.name, event.data)
            await response.write(chunk)
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
            reading.on_body(parse_object(bytes(copy)))
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
            self._run.settle(self._pending, "free", keep=self._relay.config.max_unbilled)
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
            _settle_hung_up(self._run, self._pending, keep=self._relay.config.max_unbilled)
            raise ConnectionResetError(message)
        if self._response is None:
            self._pending.status = 502
            self._run.settle(self._pending, outcome, message=message)
            return refusal(self._request, self._match, 502, message)
        self._run.settle(self._pending, outcome, message=message)
        transport.abort()
        return self._response


def _settle_hung_up(run: Run, pending: Pending, *, keep: int) -> None:
    """CLIs leave at the last event without waiting for the end of the body: such a call is whole."""
    if pending.reading and pending.reading.finished:
        run.settle(pending, "error" if pending.reading.error else "ok")
    elif pending.sent:
        run.settle(pending, "hung_up", message=_HUNG_UP)
    else:
        run.settle(pending, "refused", message=f"{_HUNG_UP} before its request was complete", keep=keep)


def _breaker(request: web.BaseRequest) -> Callable[[], None]:
    def break_off() -> None:
        if request.transport is not None:
            request.transport.abort()

    return break_off


def _inquire(request: web.BaseRequest, match: Match, pending: Pending, body: bytes) -> None:
    wire = match.wire
    pending.session = next(
        (request.headers[name] for name in wire.session_headers if name in request.headers), None
    )
    if match.route.kind == "free":
        return
    parsed = parse_object(body)
    if not parsed:
        raise RefusedError(400, "the request body is no JSON object")
    pending.inquiry = wire.inquire(request.rel_url.raw_path, parsed)


def _host(address: Address) -> str:
    return address.socket or f"{address.url.host}:{address.url.port}"
