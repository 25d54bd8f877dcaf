"""One run's requests, whatever is in them, keep no other run waiting, and fill no memory."""

import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.gateway.conftest import Agent, Answer, Kit, Provider
from tiltyard_gateway import GatewayConfig, GatewayProcess, scripted_upstreams
from tiltyard_gateway.scripted import Conversation, Script, ScriptedServer, Turn

pytestmark = pytest.mark.slow  # many processes

STALL = 1.0
"""Seconds; an idle gateway answers in some milliseconds, and one that is stopped takes many of these."""
DENSE = 120_000


@pytest.fixture
def alone(config: GatewayConfig) -> Iterator[GatewayProcess]:
    """A gateway of its own, whose memory tells of this test only."""
    with GatewayProcess(config) as process:
        yield process


@pytest.fixture
def agents(alone: GatewayProcess, provider: Provider, kit: type[Kit], tmp_path: Path) -> tuple[Agent, Agent]:
    """The one that floods, and the one that must not feel it."""
    made = []
    for slot in ("0", "1"):
        made.append(kit.Agent(alone.open_slot(slot) / "gw.sock"))
        alone.begin(slot, kit.ticket(tmp_path / f"{slot}.jsonl"))
    return made[0], made[1]


def holding(inner: bytes) -> bytes:
    """An ordinary request with something more in it."""
    return b'{"model":"claude-x","messages":[{"role":"user","content":"hi"}],"z":[' + inner + b"1]}"


def gzip_of_zeros(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = bytes(1_000_000)
    return b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.flush()


def longest_wait(other: Agent, flood: Callable[[], object]) -> float:
    """Seconds of the slowest answer that another run got from the start of a flood to its end.

    They are seconds of a machine with nothing else to do: what others take of it is left out.
    """
    thread = threading.Thread(target=flood)
    thread.start()
    slowest, crowded = 0.0, 1.0
    while thread.is_alive():
        began = time.monotonic()
        assert other.message().status == 200
        slowest = max(slowest, time.monotonic() - began)
        crowded = max(crowded, crowding())
    thread.join()
    return slowest / crowded


def crowding() -> float:
    """How many times longer work takes than the processor works on it."""
    began, busy = time.monotonic(), time.thread_time()
    while time.thread_time() - busy < 0.01:
        pass
    return (time.monotonic() - began) / (time.thread_time() - busy)


def peak_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param(lambda: holding(b"[]," * 20_000_000), {}, 413, id="60 MB of brackets"),
        pytest.param(lambda: holding(b"[]," * 9_000_000), {}, 413, id="brackets within the size"),
        pytest.param(lambda: holding(b"{}," * 1_900_000), {}, 413, id="objects"),
        pytest.param(lambda: holding(b"{}," * DENSE), {}, 200, id="the most objects that pass"),
        pytest.param(lambda: holding(b'"' + b'\\"' * 10_000_000 + b'",'), {}, 200, id="quotes"),
        pytest.param(
            lambda: b"{" + b",".join(b'"k%d":1' % n for n in range(200_000)) + b',"k199999":2}',
            {},
            400,
            id="the last of many keys twice",
        ),
        pytest.param(
            lambda: gzip_of_zeros(1_000_000_000), {"Content_Encoding": "gzip"}, 413, id="a gigabyte of gzip"
        ),
    ],
)
def test_one_request_stops_no_other_run(
    agents: tuple[Agent, Agent],
    alone: GatewayProcess,
    body: Callable[[], bytes],
    headers: dict[str, str],
    status: int,
) -> None:
    flooding, other = agents
    data = body()
    answers: list[Answer] = []

    def flood() -> None:
        with suppress(OSError):  # what is refused early may not be taken in to its end
            answers.append(flooding.ask("POST", "/v1/messages", data, **headers))

    assert longest_wait(other, flood) < STALL
    assert [answer.status for answer in answers] in ([status], [] if status == 413 else [status])
    assert [call.status for call in alone.calls("0")] == [status]
    assert peak_mb(alone.pid) < 400


def test_many_dense_requests_at_once_stop_no_other_run(agents: tuple[Agent, Agent]) -> None:
    flooding, other = agents
    data = holding(b"{}," * DENSE)

    def flood() -> None:
        threads = [
            threading.Thread(target=flooding.ask, args=("POST", "/v1/messages", data)) for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert longest_wait(other, flood) < STALL


@pytest.mark.parametrize(("announced", "sent"), [(64_000_000, 63_000_000), (30_000_000, 29_000_000)])
def test_bodies_that_never_end_fill_no_memory(
    agents: tuple[Agent, Agent], alone: GatewayProcess, kit: type[Kit], announced: int, sent: int
) -> None:
    """Twenty connections which send almost all that they announce, and wait."""
    flooding, other = agents
    head = f"POST /v1/messages HTTP/1.1\r\nHost: g\r\nx-api-key: {kit.PLACEBO}\r\n"
    data = f"{head}Content-Length: {announced}\r\n\r\n".encode() + b"x" * sent
    stuck = [flooding.begin("GET", "/") for _ in range(20)]
    for connection in stuck:
        connection.getresponse().read()

    def send(index: int) -> None:
        with suppress(OSError):
            stuck[index].sock.sendall(data)

    def flood() -> None:
        threads = [threading.Thread(target=send, args=(index,)) for index in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert longest_wait(other, flood) < STALL
    assert peak_mb(alone.pid) < 400


@pytest.mark.parametrize("header", [b"", b"\x1f\x8b"])
def test_a_body_that_is_no_gzip_is_told(agents: tuple[Agent, Agent], kit: type[Kit], header: bytes) -> None:
    body = header + json.dumps(kit.message_body()).encode()
    answer = agents[0].ask("POST", "/v1/messages", body, Content_Encoding="gzip")

    assert answer.status == 400
    assert "the request body is no" in answer.json["error"]["message"]


@pytest.mark.parametrize("cut", [-1, None])
def test_half_a_gzip_or_two_are_told(agents: tuple[Agent, Agent], kit: type[Kit], cut: int | None) -> None:
    """Of two in one body a provider may read one only."""
    packed = zlib.compress(json.dumps(kit.message_body()).encode(), wbits=31)
    body = packed[:cut] if cut else packed * 2
    answer = agents[0].ask("POST", "/v1/messages", body, Content_Encoding="gzip")

    assert answer.status == 400
    assert "no whole gzip" in answer.json["error"]["message"]


@pytest.mark.parametrize("window", [zlib.MAX_WBITS, -zlib.MAX_WBITS])
def test_both_kinds_of_deflate_are_read(
    agents: tuple[Agent, Agent], provider: Provider, kit: type[Kit], window: int
) -> None:
    plain = json.dumps(kit.message_body() | {"pad": "x" * 3_000_000}).encode()
    body = zlib.compress(plain, wbits=window)

    assert agents[0].ask("POST", "/v1/messages", body, Content_Encoding="deflate").status == 200
    assert provider.received[-1].body == plain


def test_the_scripted_server_reads_no_such_body_either(kit: type[Kit], tmp_path: Path) -> None:
    """Also not by the free paths, on which the gateway need not understand a request."""
    script = Script(conversations=(Conversation(turns=(Turn(text="hello"),)),))
    with (
        ScriptedServer(script) as server,
        GatewayProcess(GatewayConfig(upstreams=scripted_upstreams(server.base_url))) as gateway,
    ):
        agent = kit.Agent(gateway.open_slot("0") / "gw.sock")
        gateway.begin("0", kit.ticket(tmp_path / "calls.jsonl"))
        data = holding(b"[]," * 1_000_000)
        statuses = [agent.ask("POST", f"/v1/messages{end}", data).status for end in ("", "/count_tokens")]

    assert statuses == [413, 413]
