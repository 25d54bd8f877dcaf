"""The forwarder in its container with no network, against a real unix socket server on this machine.

The client runs in a second container in the forwarder's network namespace, as a run's container does.
"""

import hashlib
import json
import shutil
import socket
import socketserver
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from tiltyard_images import Image, ImageBuilder

pytestmark = pytest.mark.engine
needs_gateway = pytest.mark.usefixtures("gateway")

CAP = 256
MEGABYTE = 1024 * 1024

PRELUDE = """
import hashlib, json, socket, sys, threading, time
def dial(word):
    sock = socket.create_connection(("127.0.0.1", 8484), 20)
    sock.sendall(word.encode().ljust(8))
    return sock
def rest(sock):
    data = b""
    while chunk := sock.recv(65536):
        data += chunk
    return data
"""


class Gateway(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Does what the first eight bytes of a connection say, and counts connections."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), Behaviour)
        path.chmod(0o666)
        self.lock, self.open, self.peak, self.streamed = threading.Lock(), 0, 0, 0


class Behaviour(socketserver.BaseRequestHandler):
    """One connection."""

    server: Gateway
    request: socket.socket

    def handle(self) -> None:
        with self.server.lock:
            self.server.open += 1
            self.server.peak = max(self.server.peak, self.server.open)
        try:
            word = self.request.recv(8, socket.MSG_WAITALL).decode().strip()
            with suppress(ConnectionError):
                getattr(self, f"do_{word}")()
        finally:
            with self.server.lock:
                self.server.open -= 1

    def do_echo(self) -> None:
        while chunk := self.request.recv(65536):
            self.request.sendall(chunk)

    def do_digest(self) -> None:
        """Read to the end, then answer: works only if the end is passed on as a half-close."""
        digest = hashlib.sha256()
        while chunk := self.request.recv(65536):
            digest.update(chunk)
        self.request.sendall(digest.hexdigest().encode())

    def do_answer(self) -> None:
        """Answer at once and hang up without reading the rest."""
        self.request.sendall(b"refused")

    def do_spill(self) -> None:
        """Fill every buffer on the way, then hang up."""
        self.request.setblocking(False)
        with suppress(BlockingIOError):
            for _ in range(10_000):
                self.server.streamed += self.request.send(b"x" * 4096)
                time.sleep(0.0001)

    def do_flood(self) -> None:
        while True:
            self.server.streamed += self.request.send(b"x" * 65536)


@pytest.fixture(scope="module")
def sockets() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ty-gw-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def gateway(sockets: Path) -> Iterator[Gateway]:
    path = sockets / "gw.sock"
    path.unlink(missing_ok=True)
    server = Gateway(path)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    path.unlink()
    thread.join()


@pytest.fixture(scope="module")
def slot(client: docker.DockerClient, cache: Path, sockets: Path) -> Iterator[Container]:
    """A forwarder, limited as a slot limits it."""
    container = client.containers.run(
        ImageBuilder(client, cache).forwarder().id,
        detach=True,
        network_mode="none",
        volumes={str(sockets): {"bind": "/run/tiltyard", "mode": "rw"}},
        user="1000:1000",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        read_only=True,
        mem_limit="32m",
        pids_limit=4,
    )
    yield container
    container.remove(force=True)


Talk = Callable[[str], object]


@pytest.fixture(scope="module")
def talk(client: docker.DockerClient, base: Image, slot: Container) -> Iterator[Talk]:
    """Run Python in a container of the slot; return the JSON that it prints last."""
    agent = client.containers.run(
        base.id, ["sleep", "600"], detach=True, network_mode=f"container:{slot.id}", user="1000:1000"
    )

    def run(script: str) -> object:
        status, output = agent.exec_run(["python3", "-c", PRELUDE + script])
        assert status == 0, output.decode()
        return json.loads(output)

    yield run
    agent.remove(force=True)


def test_300_connections_are_served_and_never_more_than_256_at_once(gateway: Gateway, talk: Talk) -> None:
    """All 300 get their answer; the last 44 wait in the kernel's queue until others end."""
    answers = talk("""
socks = [dial("echo") for _ in range(300)]
for n, sock in enumerate(socks): sock.sendall(b"%05d" % n)
time.sleep(0.5)
good = 0
for n, sock in enumerate(socks):
    good += sock.recv(5, socket.MSG_WAITALL) == b"%05d" % n
    sock.close()
print(json.dumps(good))
""")

    assert answers == 300
    assert gateway.peak == CAP


@needs_gateway
def test_the_end_of_a_request_reaches_the_gateway_while_the_answer_comes(talk: Talk) -> None:
    answer = talk("""
sock = dial("digest"); sock.sendall(b"question"); sock.shutdown(socket.SHUT_WR)
print(json.dumps(rest(sock).decode()))
""")

    assert answer == hashlib.sha256(b"question").hexdigest()


@needs_gateway
def test_64_megabytes_pass_both_ways_unchanged(talk: Talk) -> None:
    same = talk("""
blob = bytes(range(256)) * 4096; sock = dial("echo"); sent, got = hashlib.sha256(), hashlib.sha256()
def send():
    for n in range(64):
        piece = blob[n:] + blob[:n]; sent.update(piece); sock.sendall(piece)
    sock.shutdown(socket.SHUT_WR)
thread = threading.Thread(target=send); thread.start(); size = 0
while chunk := sock.recv(1 << 18):
    got.update(chunk); size += len(chunk)
thread.join()
print(json.dumps([size, sent.hexdigest() == got.hexdigest()]))
""")

    assert same == [64 * MEGABYTE, True]


@needs_gateway
def test_an_early_answer_arrives_although_the_request_is_not_read(talk: Talk) -> None:
    assert talk('sock = dial("answer"); print(json.dumps(sock.recv(7).decode()))') == "refused"


def test_a_reader_that_does_not_read_slows_the_sender_and_harms_nobody(
    gateway: Gateway, talk: Talk, slot: Container
) -> None:
    """Unread streams in all slots but one: little is buffered, and the last slot still answers."""
    answer = talk("""
floods = [dial("flood") for _ in range(255)]
time.sleep(1)
sock = dial("digest"); sock.sendall(b"q"); sock.shutdown(socket.SHUT_WR)
print(json.dumps(rest(sock).decode()))
""")

    slot.reload()
    assert answer == hashlib.sha256(b"q").hexdigest()
    assert gateway.streamed < CAP * 8 * MEGABYTE
    assert slot.status == "running"


def test_a_gateway_that_hangs_up_behind_a_full_buffer_does_not_make_the_forwarder_spin(
    gateway: Gateway, talk: Talk, slot: Container
) -> None:
    """While the client does not read, nothing is done; then it gets every byte."""
    before = _cpu(slot)
    received = talk("""
sock = socket.socket(); sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
sock.connect(("127.0.0.1", 8484)); sock.sendall(b"spill   ")
time.sleep(2.5)
print(json.dumps(len(rest(sock))))
""")

    assert _cpu(slot) - before < 0.5e9
    assert received == gateway.streamed > 100_000


def _cpu(container: Container) -> int:
    usage: int = container.stats(stream=False)["cpu_stats"]["cpu_usage"]["total_usage"]
    return usage


def test_without_a_gateway_a_connection_ends_at_once_and_later_ones_work(
    talk: Talk, request: pytest.FixtureRequest
) -> None:
    script = """
sock = socket.create_connection(("127.0.0.1", 8484), 5); began = time.monotonic()
try: data = sock.recv(1)
except ConnectionError: data = b""
print(json.dumps([data.decode(), time.monotonic() - began < 1]))
"""
    assert talk(script) == ["", True]

    request.getfixturevalue("gateway")
    assert talk('sock = dial("answer"); print(json.dumps(sock.recv(7).decode()))') == "refused"


def test_it_listens_on_loopback_only(talk: Talk) -> None:
    listening = talk("""
rows = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
print(json.dumps([row[1] for row in rows if row[3] == "0A"]))
""")

    assert listening == ["0100007F:2124"]


def test_it_ends_at_once_when_asked(client: docker.DockerClient, cache: Path) -> None:
    container = client.containers.run(
        ImageBuilder(client, cache).forwarder().id, ["9000"], detach=True, network_mode="none"
    )
    try:
        began = time.monotonic()
        container.stop(timeout=20)

        assert time.monotonic() - began < 5
        assert container.wait()["StatusCode"] == 0
        assert b"listening on 127.0.0.1:9000" in container.logs()
    finally:
        container.remove(force=True)


@pytest.mark.parametrize("words", [["0"], ["70000"], ["8484", "/s" * 100], ["1", "2", "3"]])
def test_wrong_arguments_are_refused(client: docker.DockerClient, cache: Path, words: list[str]) -> None:
    container = client.containers.run(
        ImageBuilder(client, cache).forwarder().id, words, detach=True, network_mode="none"
    )
    try:
        assert container.wait()["StatusCode"] == 2
        assert b"usage: forwarder" in container.logs()
    finally:
        container.remove(force=True)
