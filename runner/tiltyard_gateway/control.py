"""The driver's side door: a private unix socket that opens slots and hands them to runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from tiltyard_gateway.config import LeaseOrder, RunMeter, RunTicket
from tiltyard_gateway.slots import Slots
from tiltyard_specs.errors import TiltyardError
from tiltyard_specs.trial import Budget

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Control:
    """Handlers over the slots."""

    slots: Slots

    def application(self) -> web.Application:
        """All commands: `POST /slots/NAME/COMMAND`."""
        app = web.Application(middlewares=[_errors], client_max_size=1024 * 1024)
        app.add_routes([
            web.get("/alive", self._alive),
            web.get("/spent", self._spent),
            web.post("/budget", self._budget),
            web.post("/lease", self._lease),
            web.get("/held", self._held),
            web.post("/hold", self._hold),
            web.post("/slots/{slot}/open", self._open),
            web.post("/slots/{slot}/begin", self._begin),
            web.post("/slots/{slot}/calls", self._calls),
            web.get("/slots/{slot}/waited", self._waited),
            web.post("/slots/{slot}/end", self._end),
            web.post("/slots/{slot}/close", self._close),
        ])  # fmt: skip
        return app

    async def _alive(self, request: web.Request) -> web.Response:
        del request
        return web.json_response({})

    async def _spent(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(self.slots.spent().model_dump())

    async def _budget(self, request: web.Request) -> web.Response:
        self.slots.allow(Budget.model_validate_json(await request.read()))
        return web.json_response({})

    async def _lease(self, request: web.Request) -> web.Response:
        order = LeaseOrder.model_validate_json(await request.read())
        return web.json_response(self.slots.lease(order).model_dump())

    async def _held(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(self.slots.holds.left())

    async def _hold(self, request: web.Request) -> web.Response:
        for provider, seconds in (await request.json()).items():
            self.slots.holds.pause(str(provider), float(seconds))
        return web.json_response({})

    async def _open(self, request: web.Request) -> web.Response:
        folder = await self.slots.open(request.match_info["slot"])
        return web.json_response({"folder": str(folder)})

    async def _begin(self, request: web.Request) -> web.Response:
        ticket = RunTicket.model_validate_json(await request.read())
        self.slots.begin(request.match_info["slot"], ticket)
        return web.json_response({})

    async def _calls(self, request: web.Request) -> web.Response:
        return _meter(self.slots.get(request.match_info["slot"]).owner().meter())

    async def _waited(self, request: web.Request) -> web.Response:
        run = self.slots.get(request.match_info["slot"]).owner()
        return web.json_response({"seconds": run.waiting.seconds})

    async def _end(self, request: web.Request) -> web.Response:
        return _meter(await self.slots.get(request.match_info["slot"]).end())

    async def _close(self, request: web.Request) -> web.Response:
        await self.slots.close(request.match_info["slot"])
        return web.json_response({})


def _meter(meter: RunMeter) -> web.Response:
    body: dict[str, Any] = {
        "calls": [call.model_dump(mode="json") for call in meter.calls],
        "unrecorded": meter.unrecorded,
        "journal_error": meter.journal_error,
        "stopped_by": meter.stopped_by,
    }
    return web.json_response(body)


@web.middleware
async def _errors(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """The driver gets the sentence, not a traceback; pydantic's own text would quote the keys."""
    try:
        return await handler(request)
    except TiltyardError as error:
        return web.json_response({"error": str(error)}, status=400)
    except ValidationError as error:
        paths = ", ".join(".".join(map(str, item["loc"])) for item in error.errors(include_input=False))
        return web.json_response({"error": f"the ticket is malformed at: {paths}"}, status=400)
    except OSError as error:
        return web.json_response({"error": f"{error.filename or 'gateway'}: {error.strerror}"}, status=500)
