"""May a request pass? Every check that comes before anything is sent on."""

import hmac
from typing import NamedTuple

from aiohttp import web

from tiltyard_gateway.config import Upstream
from tiltyard_gateway.refused import RefusedError
from tiltyard_gateway.runs import Run
from tiltyard_gateway.wires import Match, likely_wire
from tiltyard_gateway.writable import writable

_FINAL = {"x-should-retry": "false"}
"""Some client libraries ask this header; a second try would be refused like the first."""
_BAD_GATEWAY = 502
"""The provider cannot be reached: a second try is right."""
_KEY_HEADERS = ("x-api-key", "api-key", "x-goog-api-key")


class Destination(NamedTuple):
    """Where an admitted request goes, and with which key."""

    upstream: Upstream
    key: str | None
    """None: the agent's own login is sent on."""


def admit(request: web.BaseRequest, match: Match | None, run: Run) -> tuple[Match, Destination]:
    """Let a request pass to its provider, or raise `RefusedError`."""
    if "upgrade" in request.headers.get("Connection", "").lower():
        # 426 tells codex at once to go on over plain HTTP.
        raise RefusedError(426, "this gateway speaks plain HTTP: no WebSocket, no protocol upgrade")
    if match is None:
        path = request.rel_url.raw_path[:200]
        raise RefusedError(404, f"{request.method} {path} is no path that this gateway serves")
    passthrough = run.ticket.auth == "passthrough"
    if not passthrough and not carries_key(request, run.placebo):
        raise RefusedError(401, "this request does not carry the key of the run that owns this slot")
    if run.journal.error:
        # A call that cannot be written down could be paid for and lost.
        raise RefusedError(503, f"calls can no longer be recorded: {run.journal.error}")
    if passthrough:
        run.keep_secret(given_keys(request))
    return match, _destination(match.wire.provider, run)


def carries_key(request: web.BaseRequest, placebo: str) -> bool:
    """Whether one of the headers that agents put a key in holds this run's placebo key."""
    return any(hmac.compare_digest(key.encode(), placebo.encode()) for key in given_keys(request))


def given_keys(request: web.BaseRequest) -> list[str]:
    """What the request carries where agents put a key."""
    given = [key for name in _KEY_HEADERS for key in request.headers.getall(name, [])]
    given += [key.removeprefix("Bearer ") for key in request.headers.getall("Authorization", [])]
    given.append(request.rel_url.query.get("key", ""))
    return [writable(key) for key in given if key]


def _destination(provider: str, run: Run) -> Destination:
    upstream = run.upstreams.get(provider)
    if upstream is None:
        raise RefusedError(503, f"no upstream is configured for the provider {provider}", "key")
    if run.ticket.auth == "passthrough":
        return Destination(upstream, None)
    key = upstream.key.get_secret_value() if upstream.key else ""
    if not key:
        name = upstream.key_name or "its key"
        raise RefusedError(
            503, f"the key for the provider {provider} is missing: set {name} where tiltyard runs", "key"
        )
    return Destination(upstream, key)


def refusal(
    request: web.BaseRequest, match: Match | None, status: int, message: str, reason: str | None = None
) -> web.Response:
    """An error as the agent's client library expects it."""
    wire = match.wire if match else likely_wire(request.headers)
    body = wire.error_body(status, f"tiltyard gateway: {message}", reason)
    response = web.json_response(body, status=status, headers=None if status == _BAD_GATEWAY else _FINAL)
    if status in {413, 426}:
        response.force_close()
    return response
