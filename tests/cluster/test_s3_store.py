"""The S3 store passes the contract on a real service, and keeps it when the service is odd, away or slow."""

import hashlib
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.cluster import store_contract
from tiltyard_cluster.outage import PATIENCE, Outage
from tiltyard_cluster.s3_client import make_client
from tiltyard_cluster.s3_store import S3Store
from tiltyard_specs import DataError, UnavailableError

pytestmark = pytest.mark.slow


@pytest.fixture
def prefix() -> str:
    return f"test/{uuid4().hex}"


@pytest.fixture
def store(s3_service: Any, prefix: str) -> S3Store:
    return S3Store(s3_service.bucket, prefix)


class TestS3Store(store_contract.StoreContract):  # type: ignore[misc, name-defined]
    """The contract on SeaweedFS."""


class Proxy(ThreadingHTTPServer):
    """Passes requests on to the service, except for what a test does to them."""

    daemon_threads = True

    def __init__(self, endpoint: str, meddle: Callable[["Passing"], bool]) -> None:
        self.target = endpoint.removeprefix("http://")
        self.meddle = meddle
        self.seen: list[str] = []
        super().__init__(("127.0.0.1", 0), Passing)

    @property
    def endpoint(self) -> str:
        return f"http://{self.target_host}"

    @property
    def target_host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A broken connection is what some tests make."""


class Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def pass_on(self) -> tuple[int, list[tuple[str, str]], bytes]:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        with closing(HTTPConnection(self.server.target, timeout=60)) as connection:
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()

    def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in {"transfer-encoding", "content-length", "date", "server"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self) -> None:
        self.server.seen.append(f"{self.command} {self.path}")
        if not self.server.meddle(self):
            self.answer(*self.pass_on())

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815  # http.server's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # http.server's name
        """Say nothing."""


@contextmanager
def proxied(service: Any, meddle: Callable[[Passing], bool]) -> Iterator[Proxy]:
    server = Proxy(service.endpoint, meddle)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def through(proxy: Proxy, service: Any, prefix: str, **options: Any) -> S3Store:
    # The signature covers the Host header: the proxy passes on the one that it got.
    return S3Store(service.bucket, prefix, endpoint=proxy.endpoint, **options)


def test_the_probe_passes_on_a_service_that_keeps_conditions(store: S3Store) -> None:
    store.require_conditions()
    assert list(store.list("")) == []


def test_a_service_that_ignores_conditions_is_refused_with_advice(s3_service: Any, prefix: str) -> None:
    def ignore(request: Passing) -> bool:
        # Signed headers cannot be dropped; answer "written" to what the service turned away.
        status, headers, body = request.pass_on()
        request.answer(200 if status == 412 else status, headers, b"" if status == 412 else body)
        return True

    with (
        proxied(s3_service, ignore) as proxy,
        pytest.raises(UnavailableError, match="ignores conditions") as error,
    ):
        through(proxy, s3_service, prefix).require_conditions()
    assert "use one that keeps them" in str(error.value)


def test_an_answer_that_was_lost_is_no_conflict(s3_service: Any, prefix: str) -> None:
    """The first try was carried out, its answer never came, and the second meets what the first wrote."""
    lost: list[str] = []

    def lose(request: Passing) -> bool:
        if request.command != "PUT" or lost:
            return False
        lost.append(request.path)
        assert request.pass_on()[0] == 200
        request.close_connection = True
        request.connection.shutdown(socket.SHUT_RDWR)
        return True

    with proxied(s3_service, lose) as proxy:
        store = through(proxy, s3_service, prefix)
        assert store.put_if_absent("runs/a/run.json", b"mine")
        assert not store.put_if_absent("runs/a/run.json", b"mine")
    assert len(lost) == 1


def test_somebody_elses_object_is_a_conflict_though_a_try_was_repeated(s3_service: Any, prefix: str) -> None:
    S3Store(s3_service.bucket, prefix).put("runs/a/run.json", b"theirs")
    broken: list[str] = []

    def break_once(request: Passing) -> bool:
        if request.command == "PUT" and not broken:
            broken.append(request.path)
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)
            return True
        return False

    with proxied(s3_service, break_once) as proxy:
        assert not through(proxy, s3_service, prefix).put_if_absent("runs/a/run.json", b"mine")
    assert broken


def test_an_outage_is_waited_out_and_told(s3_service: Any, prefix: str) -> None:
    told: list[str] = []
    since_told = 0

    def away(request: Passing) -> bool:
        """Until some time after it was told, however long that takes."""
        nonlocal since_told
        since_told += bool(told)
        if since_told > 5:
            return False
        request.pass_on()
        request.answer(503, [], b"<Error><Code>ServiceUnavailable</Code></Error>")
        return True

    with proxied(s3_service, away) as proxy:
        store = through(proxy, s3_service, prefix, tell=told.append)
        store.put("a", b"1")
        assert store.get("a") == b"1"
    assert len(told) == 2
    assert "does not answer" in told[0]
    assert told[1].endswith("answers again")


def test_an_outage_without_end_is_an_error_that_says_so(s3_service: Any, prefix: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    store = S3Store(s3_service.bucket, prefix, endpoint=f"http://127.0.0.1:{port}", patience=1.0)
    with pytest.raises(UnavailableError, match=r"does not answer.*see that its address is right"):
        store.get("a")
    long_ago = time.monotonic() - PATIENCE - 1
    with pytest.raises(UnavailableError, match="finished runs are kept: start again to go on"):
        Outage("s3://b/p", PATIENCE, None).go_on(OSError("away"), since=long_ago, hopeless=False)


def test_wrong_keys_are_told_at_once(store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="refuses"):
        store.put("a", b"1")
    assert time.monotonic() - began < 30


def test_no_keys_are_told_at_once(store: S3Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UnavailableError, match="credentials"):
        store.put("a", b"1")


def test_what_was_altered_is_not_read(s3_service: Any, store: S3Store, prefix: str) -> None:
    store.put("a", b"right")
    client = make_client(None)
    metadata = client.head_object(Bucket=s3_service.bucket, Key=f"{prefix}/a")["Metadata"]
    assert metadata == {"sha256": hashlib.sha256(b"right").hexdigest()}
    client.put_object(Bucket=s3_service.bucket, Key=f"{prefix}/a", Body=b"wrong", Metadata=metadata)

    with pytest.raises(DataError, match="a was altered"):
        store.get("a")
    with pytest.raises(DataError, match="a was altered"):
        b"".join(store.stream("a"))


def test_raw_output_lies_there_compressed_and_comes_back_as_it_was(
    s3_service: Any, store: S3Store, prefix: str, tmp_path: Path
) -> None:
    text = b"the same line again\n" * 50_000
    (tmp_path / "raw.out").write_bytes(text)
    store.put_file("runs/a/raw.out", tmp_path / "raw.out")

    assert store.get("runs/a/raw.out") == b"".join(store.stream("runs/a/raw.out")) == text
    size = make_client(None).head_object(Bucket=s3_service.bucket, Key=f"{prefix}/runs/a/raw.out")[
        "ContentLength"
    ]
    assert size < len(text) / 100


def test_a_large_file_goes_up_in_parts(s3_service: Any, prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    path.write_bytes(bytes(range(256)) * (20 << 12))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with proxied(s3_service, lambda _: False) as proxy:
        store = through(proxy, s3_service, prefix)
        store.put_file("records.parquet", path)
        store.fetch("records.parquet", path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    assert sum("partNumber=" in line for line in proxy.seen) >= 3


def test_a_store_can_be_sent_to_another_process(store: S3Store) -> None:
    store.put("a", b"1")
    again = pickle.loads(pickle.dumps(store))  # noqa: S301  # our own bytes
    assert again.get("a") == b"1"


def test_one_of_many_clients_wins(s3_service: Any, prefix: str) -> None:
    start = threading.Barrier(16)

    def race(number: int) -> bool:
        store = S3Store(s3_service.bucket, prefix)
        start.wait()
        return store.put_if_absent("race", str(number).encode())

    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(race, range(16)))
    assert sum(won) == 1
    assert S3Store(s3_service.bucket, prefix).get("race") == str(won.index(True)).encode()


def test_more_than_a_page_of_keys(store: S3Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.put(f"runs/{number:04}", b""), range(1100)))
    assert sorted(store.list("runs/")) == [f"runs/{number:04}" for number in range(1100)]
