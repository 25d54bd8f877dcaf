"""The scripted model server: real agents talk to it as to a provider, for nothing and always the same."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from aiohttp import web

from tiltyard_gateway.lifetime import stop_signal
from tiltyard_gateway.limits import BACKLOG, raise_open_files
from tiltyard_gateway.scripted import anthropic, gemini, openai_chat, openai_responses
from tiltyard_gateway.scripted.dialect import Dialect, Piece
from tiltyard_gateway.scripted.player import NoAnswerError, Play, Player
from tiltyard_gateway.scripted.script import ErrorAnswer, Script, Turn
from tiltyard_gateway.values import MOST_VALUES, ValueCounter, pieces
from tiltyard_gateway.wires.base import parse_object

DIALECTS: tuple[Dialect, ...] = (
    anthropic.DIALECT,
    openai_responses.DIALECT,
    openai_chat.DIALECT,
    gemini.DIALECT,
)
_MAX_BODY = 32 * 1024 * 1024
_CHARACTERS_PER_TOKEN = 4
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(script: Script) -> web.Application:
    """Routes of all dialects, with and without the version segment."""
    player = Player(script)
    app = web.Application(client_max_size=_MAX_BODY)
    for dialect in DIALECTS:
        for path in dialect.paths:
            app.router.add_post(path, _handler(player, dialect))
    app.router.add_post("/v1/messages/count_tokens", _count_tokens)
    for version in ("v1", "v1beta"):
        app.router.add_post(f"/{version}/models/{{model}}:countTokens", _count_gemini_tokens)
        app.router.add_get(f"/{version}/models", partial(_models, script))
    app.router.add_get("/", _root)
    return app


async def serve(script: Script, *, host: str, port: int, until_stdin_closes: bool) -> None:
    """Serve until SIGINT or SIGTERM, or until stdin closes."""
    raise_open_files()
    stop = stop_signal(signal.SIGINT, signal.SIGTERM, until_stdin_closes=until_stdin_closes)
    runner = web.AppRunner(
        application(script), access_log=None, shutdown_timeout=0.1, handler_cancellation=True
    )
    await runner.setup()
    await web.TCPSite(runner, host, port, backlog=BACKLOG).start()
    print(f"listening on http://{host}:{runner.addresses[0][1]}", flush=True)  # noqa: T201 - says where it listens
    await stop.wait()
    await runner.cleanup()


def _handler(player: Player, dialect: Dialect) -> _Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            asked = dialect.read(request.path, await _body(request))
            play = player.play(asked, request.headers.get("x-tiltyard-run", ""))
        except NoAnswerError as error:
            return web.json_response(dialect.error(400, str(error)), status=400)
        if isinstance(play, ErrorAnswer):
            body = dialect.error(play.status, play.message)
            return web.json_response(body, status=play.status, headers=play.headers)
        await asyncio.sleep(play.turn.delay)
        if asked.stream:
            return await _stream(request, dialect, play)
        return await _whole(request, dialect, play)

    return handle


async def _body(request: web.Request) -> dict[str, Any]:
    """What the request says, unless reading it would stop the server for all others."""
    raw = await request.read()
    counter = ValueCounter()
    for piece in pieces(raw):
        counter.feed(piece)
        if counter.values > MOST_VALUES:
            raise web.HTTPRequestEntityTooLarge(MOST_VALUES, counter.values)
        await asyncio.sleep(0)
    return parse_object(raw)


async def _stream(request: web.Request, dialect: Dialect, play: Play) -> web.StreamResponse:
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"} | play.turn.headers
    response = web.StreamResponse(headers=headers)
    response.enable_chunked_encoding()
    await response.prepare(request)
    for piece in _until_the_end(list(dialect.stream(play.reply)), play.turn):
        if piece.paced and play.turn.chunk_delay:
            await asyncio.sleep(play.turn.chunk_delay)
        await response.write(piece.data)
    await _end_badly(request, play.turn)
    await response.write_eof()
    return response


def _until_the_end(pieces: list[Piece], turn: Turn) -> list[Piece]:
    if turn.hang:
        return pieces[:1]
    return pieces[: len(pieces) // 2] if turn.cut else pieces


async def _end_badly(request: web.Request, turn: Turn) -> None:
    if turn.hang:
        await asyncio.Event().wait()  # until the client hangs up
    if turn.cut and request.transport is not None:
        await asyncio.sleep(0)
        request.transport.close()
        raise ConnectionResetError


async def _whole(request: web.Request, dialect: Dialect, play: Play) -> web.StreamResponse:
    body = json.dumps(dialect.whole(play.reply)).encode()
    headers = {"Content-Type": "application/json"} | play.turn.headers
    response = web.StreamResponse(headers=headers)
    response.content_length = len(body)
    await response.prepare(request)
    broken = play.turn.hang or play.turn.cut
    await response.write(body[: len(body) // 2] if broken else body)
    await _end_badly(request, play.turn)
    await response.write_eof()
    return response


async def _count_tokens(request: web.Request) -> web.Response:
    asked = anthropic.DIALECT.read(request.path, await _body(request))
    return web.json_response({"input_tokens": asked.length // _CHARACTERS_PER_TOKEN})


async def _count_gemini_tokens(request: web.Request) -> web.Response:
    asked = gemini.DIALECT.read(request.path, await _body(request))
    return web.json_response({"totalTokens": asked.length // _CHARACTERS_PER_TOKEN})


async def _models(script: Script, request: web.Request) -> web.Response:
    """A list that all providers' clients can read."""
    del request
    models = [{"name": f"models/{name}", "displayName": name} for name in script.models]
    data = [
        {
            "id": name,
            "type": "model",
            "object": "model",
            "display_name": name,
            "created": 0,
            "owned_by": "script",
        }
        for name in script.models
    ]
    return web.json_response({"object": "list", "data": data, "has_more": False, "models": models})


async def _root(request: web.Request) -> web.Response:
    del request
    return web.Response(text="tiltyard scripted model server\n")
