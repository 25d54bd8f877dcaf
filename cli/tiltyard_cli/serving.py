"""Serves the pages of a site on this machine alone.

No file is served: a path is looked up among the pages, so nothing outside can be asked for. A request whose
Host is another name is refused, or a web page elsewhere could read results by pointing its own name here.
"""

import errno
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from tiltyard_specs.errors import UnavailableError

_HOST = "127.0.0.1"
_NAMES = frozenset({"127.0.0.1", "localhost"})
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Pages(Protocol):
    """What is served."""

    def page(self, path: str) -> str | None:
        """The page at a path; None when there is none."""
        ...

    def version(self) -> str:
        """Changes when pages do."""
        ...


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, pages: Pages, port: int) -> None:
        self.pages = pages
        super().__init__((_HOST, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Browsers hang up as they like: that is no news for who serves."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def open_server(pages: Pages, port: int) -> ThreadingHTTPServer:
    """A server on loopback; 0 takes any free port.

    Raises:
        UnavailableError: The port is taken, or not ours to take.
    """
    try:
        return _Server(pages, port)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno not in {errno.EADDRINUSE, errno.EACCES}:
            raise
        why = error.strerror if isinstance(error, OSError) else "it must be between 0 and 65535"
        raise UnavailableError(f"port {port} cannot be used: {why}; name another with --port") from error


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "Tiltyard"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with a page."""
        self._answer(self._body)

    def do_HEAD(self) -> None:
        """Answer with the head of a page."""
        self._answer(lambda _: None)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: who looks at pages does not read a log."""

    def _answer(self, body: Callable[[bytes], None]) -> None:
        status, kind, text = self._found()
        data = text.encode("utf-8", "backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        body(data)

    def _body(self, data: bytes) -> None:
        self.wfile.write(data)

    def _found(self) -> tuple[HTTPStatus, str, str]:
        if not self._host_is_ours():
            return (
                HTTPStatus.MISDIRECTED_REQUEST,
                "text/plain",
                "This server answers to its own address only.\n",
            )
        path = unquote(urlsplit(self.path).path).removeprefix("/")
        if path == "_version":
            return HTTPStatus.OK, "text/plain", self.server.pages.version()
        page = self.server.pages.page(path or "index.html")
        if page is None:
            return HTTPStatus.NOT_FOUND, "text/plain", "There is no such page.\n"
        return HTTPStatus.OK, "text/html", page

    def _host_is_ours(self) -> bool:
        hosts = self.headers.get_all("Host") or []
        name, _, port = (hosts[0] if len(hosts) == 1 else "").partition(":")
        return name.lower() in _NAMES and (port or "80") == str(self.server.server_address[1])
