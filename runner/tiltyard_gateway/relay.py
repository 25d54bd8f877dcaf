"""A request of an agent, from its arrival at a slot to its settlement."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic

from aiohttp import web

from tiltyard_gateway.admission import admit, refusal
from tiltyard_gateway.body import read_body
from tiltyard_gateway.budget import Budget
from tiltyard_gateway.config import GatewayConfig, default_upstreams
from tiltyard_gateway.contents import Body
from tiltyard_gateway.editing import Edited, edit, edit_free, read_request
from tiltyard_gateway.exchange import Exchange, settle_hung_up
from tiltyard_gateway.holds import Holds, Passage
from tiltyard_gateway.pending import Pending
from tiltyard_gateway.refused import RefusedError
from tiltyard_gateway.runs import Run
from tiltyard_gateway.tunnel import gate, tunnel
from tiltyard_gateway.upstream import Connections
from tiltyard_gateway.wires import Inquiry, Match, find_route
from tiltyard_gateway.worst_case import worst_case
from tiltyard_gateway.writable import writable

_GREETINGS = frozenset({"/", "/api/hello"})
"""Paths by which CLIs ask whether somebody is there."""
_FEW_VALUES = 5_000
_FEW_BYTES = 1024 * 1024
"""A request within both is understood in some milliseconds."""
_LONGEST_NAME = 500
_MOST_TOOLS = 200_000
"""Names of thousands of tools; providers take some hundred."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Answers the requests of all slots."""

    config: GatewayConfig
    connections: Connections
    budget: Budget
    holds: Holds
    thinker: Executor = field(default_factory=lambda: ThreadPoolExecutor(1))
    """Reads the requests that take long, so that all others are relayed meanwhile."""

    async def handle(self, request: web.BaseRequest, run: Run | None) -> web.StreamResponse:
        """Answer one request of the run that owns the slot; without a run nothing is served or recorded."""
        path = request.raw_path if request.method == "CONNECT" else request.rel_url.raw_path
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
            if request.method == "CONNECT":
                return await self._tunnel(request, run, pending)
            return await self._pass_on(request, match, run, pending)
        except RefusedError as refused:
            pending.status = refused.status
            run.settle(pending, "refused", message=refused.message, reason=refused.reason, keep=keep)
            return refusal(request, match, refused.status, refused.message, refused.reason)
        finally:
            # The agent hung up, unless it is settled already.
            settle_hung_up(run, pending, keep=keep)

    async def _tunnel(self, request: web.BaseRequest, run: Run, pending: Pending) -> web.StreamResponse:
        config = self.config
        upstreams = [*default_upstreams().values(), *run.upstreams.values()]
        target = gate(config.allow, [each.base_url for each in upstreams]).check(request.raw_path)
        try:
            timeouts = config.timeouts
            return await tunnel(request, pending, target, connect=timeouts.connect, idle=timeouts.idle)
        finally:
            if pending.status is not None:
                run.settle(pending, "free", keep=config.max_unbilled)

    async def _pass_on(
        self, request: web.BaseRequest, match: Match | None, run: Run, pending: Pending
    ) -> web.StreamResponse:
        found, destination = admit(request, match, run)
        body = await read_body(request, self.config.max_body, run, pending)
        edited = await self._understand(request, found, run, pending, body)
        del body
        passage = Passage(self.holds, destination.upstream.base_url)
        try:
            if pending.worst:
                await _wait_for(passage, run, pending)
                await run.reserve(pending)
            exchange = Exchange(request, found, run, pending, passage, keep=self.config.max_unbilled)
            return await exchange.run(self.connections, destination, edited)
        finally:
            passage.ended(pending.error)

    async def _understand(
        self, request: web.BaseRequest, match: Match, run: Run, pending: Pending, body: Body
    ) -> Edited:
        async with run.thinking:
            if body.values <= _FEW_VALUES and len(body.raw) <= _FEW_BYTES:
                return _edit(request, match, run, pending, body)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.thinker, _edit, request, match, run, pending, body)


async def _wait_for(passage: Passage, run: Run, pending: Pending) -> None:
    began = monotonic()
    try:
        with run.waiting.one():
            await passage.wait()
    finally:
        pending.held += monotonic() - began


def _breaker(request: web.BaseRequest) -> Callable[[], None]:
    def break_off() -> None:
        if request.transport is not None:
            request.transport.abort()

    return break_off


def _check(inquiry: Inquiry) -> None:
    """Names stand in the record of each call: without a bound a run of some minutes would fill a disk."""
    if inquiry.refusal:
        raise RefusedError(400, inquiry.refusal)
    if inquiry.role is None:
        raise RefusedError(400, "the request names no model")
    if len(inquiry.role) > _LONGEST_NAME:
        raise RefusedError(400, f"the model's name is longer than {_LONGEST_NAME} characters")
    if sum(map(len, inquiry.tools)) > _MOST_TOOLS:
        raise RefusedError(400, f"the tools' names are together longer than {_MOST_TOOLS} characters")


def _edit(request: web.BaseRequest, match: Match, run: Run, pending: Pending, given: Body) -> Edited:
    wire = match.wire
    path = request.rel_url.raw_path
    sessions = (request.headers[name] for name in wire.session_headers if name in request.headers)
    pending.session = next((writable(session)[:_LONGEST_NAME] for session in sessions), None)
    try:
        if match.route.kind == "free":
            return edit_free(given, path, match, run.ticket)
        contents = read_request(given)
        inquiry = wire.inquire(path, contents.body)
        _check(inquiry)
        pending.inquiry = inquiry
        pending.edited = edited = edit(given.raw, contents.body, match, inquiry, run.ticket)
        row = run.price(None, edited.model or inquiry.role, inquiry)
        pending.worst = worst_case(len(edited.body), contents, inquiry, row)
    except RecursionError as error:
        raise RefusedError(400, "the request body is nested too deep") from error
    return edited
