"""Allowed hosts through CONNECT: exact names only, recorded with bytes, and never a way round the meter."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.gateway.conftest import Agent, Kit
from tiltyard_gateway import GatewayConfig, GatewayProcess
from tiltyard_gateway.refused import RefusedError
from tiltyard_gateway.tunnel import gate

pytestmark = pytest.mark.slow  # many processes


@dataclass
class Echo:
    """A host that says back what it hears."""

    port: int
    closed: threading.Event


@pytest.fixture
def echo() -> Iterator[Echo]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        found = Echo(server.getsockname()[1], threading.Event())

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection: socket.socket) -> None:
            with connection:
                try:
                    while data := connection.recv(65536):
                        connection.sendall(data)
                except OSError:
                    pass
                found.closed.set()

        threading.Thread(target=serve, daemon=True).start()
        yield found
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def gateway(config: GatewayConfig, echo: Echo) -> Iterator[GatewayProcess]:
    with GatewayProcess(
        config.model_copy(update={"allow": (f"localhost:{echo.port}", "unreachable.invalid")})
    ) as gateway:
        yield gateway
        assert not gateway._helper().last_words(), "the gateway complained"


def connect(agent: Agent, target: str) -> tuple[socket.socket, bytes]:
    """Ask for a tunnel; the connection and the head of the answer."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    connection.connect(str(agent.socket))
    connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(1)
    return connection, head


def exchange(connection: socket.socket, data: bytes) -> bytes:
    sender = threading.Thread(target=connection.sendall, args=(data,))
    sender.start()
    back = b""
    while len(back) < len(data):
        back += connection.recv(1 << 20)
    sender.join()
    return back


def test_bytes_pass_both_ways_and_are_counted(
    gateway: GatewayProcess, kit: type[Kit], calls_path: Path, echo: Echo
) -> None:
    agent = Agent(gateway.open_slot("0") / "gw.sock")
    gateway.begin("0", kit.ticket(calls_path))
    connection, head = connect(agent, f"LOCALHOST:{echo.port}")
    assert head.startswith(b"HTTP/1.1 200")
    data = bytes(range(256)) * 20_000

    assert exchange(connection, data) == data
    assert exchange(connection, b"more") == b"more"
    connection.close()
    assert echo.closed.wait(10)
    kit.wait_until(lambda: len(gateway.calls("0")) == 1)
    meter = gateway.end("0")
    (call,) = meter.calls
    assert (call.method, call.path, call.outcome) == ("CONNECT", f"LOCALHOST:{echo.port}", "free")
    assert (call.sent_bytes, call.received_bytes) == (len(data) + 4, len(data) + 4)
    assert (meter.usage, meter.incomplete) == (None, 0)


def test_a_half_closed_tunnel_still_brings_the_answer(
    gateway: GatewayProcess, kit: type[Kit], calls_path: Path, echo: Echo
) -> None:
    agent = Agent(gateway.open_slot("0") / "gw.sock")
    gateway.begin("0", kit.ticket(calls_path))
    connection, _ = connect(agent, f"localhost:{echo.port}")
    connection.sendall(b"last words")
    connection.shutdown(socket.SHUT_WR)
    back = b""
    while data := connection.recv(100):
        back += data
    connection.close()

    assert back == b"last words"
    assert agent.ask("GET", "/").status == 200


def test_many_tunnels_at_once(gateway: GatewayProcess, kit: type[Kit], calls_path: Path, echo: Echo) -> None:
    agent = Agent(gateway.open_slot("0") / "gw.sock")
    gateway.begin("0", kit.ticket(calls_path))

    def one(number: int) -> bool:
        connection, _ = connect(agent, f"localhost:{echo.port}")
        data = bytes([number]) * 100_000
        with connection:
            return exchange(connection, data) == data

    with ThreadPoolExecutor(30) as pool:
        assert all(pool.map(one, range(30)))


def test_the_end_of_the_run_is_the_end_of_its_tunnels(
    gateway: GatewayProcess, kit: type[Kit], calls_path: Path, echo: Echo
) -> None:
    agent = Agent(gateway.open_slot("0") / "gw.sock")
    gateway.begin("0", kit.ticket(calls_path))
    connection, _ = connect(agent, f"localhost:{echo.port}")
    exchange(connection, b"hello")
    started = time.monotonic()
    meter = gateway.end("0")

    assert time.monotonic() - started < 3
    assert [(call.outcome, call.sent_bytes) for call in meter.calls] == [("free", 5)]
    assert connection.recv(10) == b""
    assert echo.closed.wait(10)
    connection.close()


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("other.example:443", b"403"),
        ("localhost:1", b"403"),
        ("127.0.0.1:{port}", b"403"),
        ("sub.localhost:{port}", b"403"),
        ("api.anthropic.com:443", b"403"),
        ("localhost", b"400"),
        ("unreachable.invalid:443", b"502"),
    ],
)
def test_everything_else_is_refused_and_recorded(
    gateway: GatewayProcess,
    kit: type[Kit],
    calls_path: Path,
    echo: Echo,
    target: str,
    status: bytes,
) -> None:
    agent = Agent(gateway.open_slot("0") / "gw.sock")
    gateway.begin("0", kit.ticket(calls_path))
    connection, head = connect(agent, target.format(port=echo.port))
    connection.close()

    assert head.split()[1] == status
    (call,) = gateway.end("0").calls
    assert (call.outcome, call.reason, call.sent_bytes) == ("refused", "host", None)


@pytest.mark.parametrize(
    ("target", "passes"),
    [
        ("pypi.example:443", True),
        ("PyPI.example.:80", True),
        ("pypi.example:22", False),
        ("git.example:22", True),
        ("git.example:443", False),
        ("llm.example:443", False),
        ("evil.pypi.example:443", False),
        ("pypi.example.evil:443", False),
        (":443", False),
        ("pypi.example:+443", False),
        ("[::1]:443", False),
    ],
)
def test_names_are_exact_and_providers_stay_behind_the_meter(target: str, passes: bool) -> None:
    found = gate(
        ("pypi.example", "git.example:22", "LLM.example"), ["https://llm.example/v1", "unix:///a.sock/v1"]
    )
    if passes:
        found.check(target)
    else:
        with pytest.raises(RefusedError):
            found.check(target)


def test_without_a_run_there_is_no_tunnel(gateway: GatewayProcess, echo: Echo) -> None:
    agent = Agent(gateway.open_slot("0") / "gw.sock")
    connection, head = connect(agent, f"localhost:{echo.port}")
    connection.close()

    assert head.startswith(b"HTTP/1.1 403")
