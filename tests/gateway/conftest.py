"""Real sockets all through: a provider that records what it gets, a gateway, and an agent's client."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tiltyard_gateway import GatewayConfig, GatewayProcess, RunTicket
from tiltyard_specs.errors import UsageError

REAL_KEY = "real-key-0123456789abcdef"
PLACEBO = "sk-placebo-run-1"

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x-20260101",
    "content": [{"type": "text", "text": "42"}],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 100,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 300,
        "output_tokens": 40,
    },
}


def sse(*events: dict[str, Any]) -> list[bytes]:
    """Events as a provider streams them."""
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


ANTHROPIC_STREAM = sse(
    {"type": "message_start", "message": MESSAGE | {"usage": MESSAGE["usage"] | {"output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "42"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}},
    {"type": "message_stop"},
)


@dataclass
class Received:
    """A request that reached the provider."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request, with helpers to answer it well or badly."""

    protocol_version = "HTTP/1.1"
    server: "ProviderServer"

    def _take(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        provider = self.server.provider
        provider.received.append(Received(self.command, self.path, headers, body))
        try:
            provider.behaviour(self)
        except (BrokenPipeError, ConnectionResetError):
            provider.hung_up.set()

    do_POST = do_GET = do_HEAD = _take  # noqa: N815 - http.server's naming

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's naming
        """Say nothing."""

    def answer(self, status: int, body: dict[str, Any], **headers: str) -> None:
        """A JSON answer."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def begin_stream(self) -> None:
        """Head of a chunked event stream."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        """One chunk; an empty one ends the stream."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def stream(self, events: list[bytes]) -> None:
        """A whole event stream."""
        self.begin_stream()
        for event in [*events, b""]:
            self.chunk(event)

    def break_off(self) -> None:
        """Drop the connection in the middle."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


class ProviderServer(ThreadingHTTPServer):
    """Quiet about clients that hang up."""

    daemon_threads = True
    request_queue_size = 256
    provider: "Provider"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""


@dataclass
class Provider:
    """What a test sees of the provider."""

    url: str
    behaviour: Behaviour
    received: list[Received] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)


def answer_by_stream_flag(exchange: Exchange) -> None:
    """A good provider."""
    body = exchange.server.provider.received[-1].body
    if body and json.loads(body).get("stream"):
        exchange.stream(ANTHROPIC_STREAM)
    else:
        exchange.answer(200, MESSAGE)


@pytest.fixture(scope="session")
def provider_server() -> Iterator[ProviderServer]:
    server = ProviderServer(("127.0.0.1", 0), Exchange)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def provider(provider_server: ProviderServer) -> Provider:
    """As good as new for each test."""
    url = f"http://127.0.0.1:{provider_server.server_address[1]}"
    provider_server.provider = Provider(url, answer_by_stream_flag)
    return provider_server.provider


@dataclass
class Answer:
    """What an agent got."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path, timeout: float = 20.0) -> None:
        super().__init__("gateway", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


_OPEN: list[UnixConnection] = []


@pytest.fixture(autouse=True)
def close_connections() -> Iterator[None]:
    """A test may leave its agents' connections as they are."""
    yield
    while _OPEN:
        _OPEN.pop().close()


@dataclass
class Agent:
    """An agent in a slot."""

    socket: Path
    key: str = PLACEBO

    def begin(self, method: str, path: str, body: Any = None, **headers: str) -> UnixConnection:
        """Send a request and leave the answer to the test."""
        connection = UnixConnection(self.socket)
        _OPEN.append(connection)
        named = {"x-api-key": self.key, "anthropic-version": "2023-06-01"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, data, named)
        return connection

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request and read the whole answer."""
        connection = self.begin(method, path, body, **headers)
        try:
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, response.read(), found)
        finally:
            connection.close()

    def message(self, *, stream: bool = False, **headers: str) -> Answer:
        """An ordinary Anthropic request."""
        return self.ask("POST", "/v1/messages?beta=true", message_body(stream=stream), **headers)


def message_body(*, stream: bool = False) -> dict[str, Any]:
    """An ordinary Anthropic request body."""
    tools = [{"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}}]
    return {
        "model": "claude-x",
        "stream": stream,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": tools,
    }


@pytest.fixture(scope="session")
def config(provider_server: ProviderServer) -> GatewayConfig:
    base_url = f"http://127.0.0.1:{provider_server.server_address[1]}/v1"
    upstream = {"base_url": base_url, "key": REAL_KEY, "key_name": "SOME_KEY"}
    return GatewayConfig.model_validate(
        {
            "upstreams": dict.fromkeys(("anthropic", "openai", "gemini"), upstream),
            "prices": {"claude-x": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}},
        }
    )


@pytest.fixture(scope="session")
def running_gateway(config: GatewayConfig) -> Iterator[GatewayProcess]:
    with GatewayProcess(config) as process:
        yield process


@pytest.fixture
def gateway(running_gateway: GatewayProcess) -> Iterator[GatewayProcess]:
    """One process for all tests, whose slots are closed after each."""
    yield running_gateway
    for slot in ("0", "1"):
        with suppress(UsageError):
            running_gateway.close_slot(slot)


@pytest.fixture
def calls_path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


def ticket(calls_path: Path, key: str = PLACEBO, **more: Any) -> RunTicket:
    """A run's ticket; upstreams by provider, anything else by the ticket's own names."""
    upstreams = {name: more.pop(name) for name in ("anthropic", "openai", "gemini") if name in more}
    return RunTicket.model_validate(
        {"run_id": "run-1", "placebo_key": key, "calls_path": calls_path, "upstreams": upstreams, **more}
    )


@pytest.fixture
def agent(gateway: GatewayProcess, provider: Provider, calls_path: Path) -> Agent:
    """An agent whose run owns slot 0."""
    folder = gateway.open_slot("0")
    gateway.begin("0", ticket(calls_path))
    return Agent(folder / "gw.sock")


class Kit:
    """What tests need by name; conftest cannot be imported in importlib mode."""

    REAL_KEY = REAL_KEY
    PLACEBO = PLACEBO
    MESSAGE = MESSAGE
    STREAM = ANTHROPIC_STREAM
    Agent = Agent
    sse = staticmethod(sse)
    ticket = staticmethod(ticket)
    message_body = staticmethod(message_body)

    @staticmethod
    def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
        """Wait for something that another process does."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.01)


@pytest.fixture
def kit() -> type[Kit]:
    return Kit
