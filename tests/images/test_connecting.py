"""A door that does not open leaves nothing behind: a driver may ask for its engine again and again."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiltyard_images import connect
from tiltyard_specs.errors import UnavailableError


@pytest.fixture
def broken_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Something that takes connections at the engine's socket and answers nonsense, keeping them open."""
    address = str(tmp_path / "engine.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{address}")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        threading.Thread(target=_answer, args=(listener,), daemon=True).start()
        yield
        listener.shutdown(socket.SHUT_RDWR)


def _answer(listener: socket.socket) -> None:
    kept = []
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            break
        kept.append(connection)
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 500 Broken\r\nContent-Length: 2\r\n\r\nno")
    for connection in kept:
        connection.close()


def _mine() -> int:
    """Sockets of this process that lead to some address, without those of whoever answers."""
    links = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH118, PTH208
    return sum("socket:" in os.readlink(link) for link in links if os.path.islink(link))  # noqa: PTH114, PTH115


@pytest.mark.usefixtures("broken_engine")
def test_a_failed_ping_leaves_no_socket() -> None:
    """Each failed try would keep one connection, whose other end is in this process as well."""
    before, tries = _mine(), 5
    kept = []
    for _ in range(tries):
        with pytest.raises(UnavailableError, match="No Docker engine answers") as caught:
            connect()
        kept.append(caught)
    # The answering thread keeps its own ends.
    assert _mine() - before <= tries
