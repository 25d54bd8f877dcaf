"""The way to a provider: its address, headers and connections."""

import re
import urllib.request
from collections.abc import Mapping
from functools import cache
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import unquote_plus

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from tiltyard_gateway.config import Timeouts, Upstream
from tiltyard_gateway.writable import writable

_UNIX = re.compile(r"unix://(?P<socket>/.+?\.sock)(?P<path>/.*)?")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

KEY_HEADERS = frozenset(
    {"x-api-key", "authorization", "api-key", "x-goog-api-key", "proxy-authorization", "cookie"}
)
_HOP_HEADERS = frozenset({
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
})  # fmt: skip
_NOT_SENT_ON = KEY_HEADERS | _HOP_HEADERS | {
    "host", "content-length", "content-encoding", "accept-encoding", "expect", "x-tiltyard-run",
    "x-goog-fieldmask", "x-http-method-override",
}  # fmt: skip
_NOT_PASSED_BACK = _HOP_HEADERS | {"content-length", "content-encoding", "set-cookie", "alt-svc"}


class Address(NamedTuple):
    """Where a request goes."""

    url: URL
    socket: str | None


def locate(base_url: str, rest: str, query: str, *, keep_key: bool = False) -> Address:
    """The address of a route. The query is sent on as it came, but for a key that is not the agent's own.

    Nor may it ask Google for an answer without its usage: for some fields only, or in another form.
    """
    socket = None
    found = _UNIX.fullmatch(base_url)
    if found:
        socket, base_url = found["socket"], "http://script" + (found["path"] or "")
    pairs = [pair for pair in query.split("&") if pair and _may_pass(pair, keep_key=keep_key)]
    text = base_url.rstrip("/") + rest + ("?" + "&".join(pairs) if pairs else "")
    return Address(URL(text, encoded=True), socket)


def _may_pass(pair: str, *, keep_key: bool) -> bool:
    name, _, value = unquote_plus(pair).partition("=")
    if name == "key":
        return keep_key
    return name != "fields" and not name.startswith("$") and (name != "alt" or value in {"json", "sse"})


def request_headers(
    received: Mapping[str, str], extra: Mapping[str, str], *, keep_keys: bool = False
) -> CIMultiDict[str]:
    """What is sent on: without hop-by-hop headers and, but for an agent's own login, without keys.

    It asks for a body that the meter can read.
    """
    dropped = _NOT_SENT_ON - KEY_HEADERS | {"proxy-authorization"} if keep_keys else _NOT_SENT_ON
    named = {name.strip().lower() for name in received.get("Connection", "").split(",")}
    headers = CIMultiDict(
        (name, writable(value))
        for name, value in received.items()
        if name.lower() not in dropped and name.lower() not in named
    )
    headers["Accept-Encoding"] = "identity"
    headers.update(extra)
    return headers


def response_headers(received: Mapping[str, str]) -> CIMultiDict[str]:
    """What the agent gets to see."""
    return CIMultiDict(
        (name, value) for name, value in received.items() if name.lower() not in _NOT_PASSED_BACK
    )


class Connections:
    """Client sessions by way: one over TCP, one per unix socket."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=timeouts.connect, sock_read=timeouts.idle
        )
        self._sessions: dict[str | None, aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in self._sessions.values():
            await session.close()

    def session(self, socket: str | None) -> aiohttp.ClientSession:
        """The session for this way, made when first asked for."""
        if socket not in self._sessions:
            self._sessions[socket] = self._make(socket)
        return self._sessions[socket]

    def _make(self, socket: str | None) -> aiohttp.ClientSession:
        connector = aiohttp.UnixConnector(socket, limit=0) if socket else aiohttp.TCPConnector(limit=0)
        return aiohttp.ClientSession(
            connector=connector,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent",),
            read_bufsize=64 * 1024,
        )


def proxy_for(upstream: Upstream, address: Address) -> str | None:
    """The proxy that the environment names; aiohttp's `trust_env` would read ~/.netrc, too."""
    host = address.url.host or ""
    if upstream.scripted or address.socket:
        return None
    return environment_proxy(address.url.scheme, host)


@cache
def environment_proxy(scheme: str, host: str) -> str | None:
    """The proxy for a host, if the environment names one."""
    if host in _LOOPBACK:
        return None
    return None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(scheme)


def host_of(base_url: str) -> str | None:
    """The host of a provider's address, in lower case."""
    host = None if _UNIX.fullmatch(base_url) else URL(base_url).host
    return host.lower() if host else None
