"""From inside a run: everything but the meter is refused. The same probe on an open network sees the host."""

import ipaddress
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import docker
import pytest

from tiltyard_images import ImageBuilder
from tiltyard_runner.job import Key, Place

pytestmark = [pytest.mark.engine]

PROBE = """
import errno, json, os, socket, time
targets = json.loads(os.environ["TARGETS"])
found = {}
def attempt(name, action):
    began = time.monotonic()
    try:
        found[name] = action() or "answered"
    except OSError as error:
        found[name] = errno.errorcode.get(error.errno, type(error).__name__)
    if time.monotonic() - began > 2:
        found[name] = "hung"
def tcp(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(1)
        s.connect((host, port))
def udp(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.sendto(b"x", (host, port))
for host, port in targets:
    attempt(f"tcp {host} {port}", lambda: tcp(host, port))
    attempt(f"udp {host} {port}", lambda: udp(host, port))
print(json.dumps(found))
"""


@dataclass
class Outside:
    """What a run must not reach: a listener on this machine and a neighbour's container."""

    host: list[tuple[str, int]]
    neighbour: tuple[str, int]


def _addresses() -> set[str]:
    """Every address of this machine, by asking the kernel which one it would send from."""
    found = {"127.0.0.1"}
    for target in ("198.51.100.1", "172.17.255.254"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            found.add(str(probe.getsockname()[0]))
    return found


@pytest.fixture(scope="module")
def outside(engine: docker.DockerClient, image_builder: ImageBuilder) -> Iterator[Outside]:
    bridge = engine.networks.get("bridge").attrs["IPAM"]["Config"][0]
    subnet = ipaddress.ip_network(bridge["Subnet"])
    gateway = bridge.get("Gateway") or str(subnet[1])
    listener = socket.create_server(("0.0.0.0", 0))  # noqa: S104 - a listener that a careless host would have
    listener.settimeout(0.2)
    stop = threading.Event()
    thread = threading.Thread(target=_accept, args=(listener, stop))
    thread.start()
    neighbour = engine.containers.run(
        image_builder.base().id,
        ["python3", "-m", "http.server", "8000"],
        detach=True,
        labels={"tiltyard.test": "neighbour"},
    )
    try:
        neighbour.reload()
        address = neighbour.attrs["NetworkSettings"]["IPAddress"]
        port = listener.getsockname()[1]
        yield Outside([(host, port) for host in sorted({gateway, *_addresses()})], (address, 8000))
    finally:
        neighbour.remove(force=True)
        stop.set()
        thread.join()
        listener.close()


def _accept(listener: socket.socket, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            listener.accept()[0].close()
        except TimeoutError:
            continue


def _probe(bench: Any, targets: list[tuple[str, int]], place: Place | None = None) -> dict[str, str]:
    env = {"TARGETS": json.dumps(targets)}
    result = bench.python(PROBE, edits=False, task={"env": env}, place=place)
    assert result.record.answer is not None, result.record.reason
    found: dict[str, str] = json.loads(result.record.answer)
    return found


UNROUTED = {"ENETUNREACH", "EADDRNOTAVAIL", "EHOSTUNREACH"}


def test_no_outside_address_is_reachable(bench: Any) -> None:
    outside = [
        "198.51.100.7",
        "203.0.113.9",
        "2001:db8::1",
        "169.254.169.254",
        "fd00::1",
        "172.17.0.1",
        "10.0.0.1",
    ]
    found = _probe(bench, [(host, port) for host in outside for port in (53, 80, 443)])
    assert len(found) == 42
    assert set(found.values()) <= UNROUTED, found


def test_neither_the_host_nor_a_neighbour_is_reachable(bench: Any, outside: Outside) -> None:
    found = _probe(bench, [*outside.host, outside.neighbour])
    loopback = found.pop(f"tcp 127.0.0.1 {outside.host[0][1]}")
    found.pop(f"udp 127.0.0.1 {outside.host[0][1]}")  # its own loopback takes the packet; nobody is there
    assert loopback == "ECONNREFUSED"
    assert set(found.values()) <= UNROUTED, found


def test_the_same_probe_on_an_open_network_sees_both(bench: Any, outside: Outside, open_place: Place) -> None:
    found = _probe(bench, [*outside.host, outside.neighbour], place=open_place)
    assert found["tcp {} {}".format(*outside.neighbour)] == "answered"
    assert "answered" in {found[f"tcp {host} {port}"] for host, port in outside.host if host != "127.0.0.1"}


def test_names_are_not_resolved_and_fail_at_once(bench: Any) -> None:
    script = """
import socket, time
began = time.monotonic()
for name in ("host.docker.internal", "gateway.docker.internal", "metadata.example", "www.example"):
    try:
        print(name, socket.getaddrinfo(name, 80))
    except OSError as error:
        pass
print("quick" if time.monotonic() - began < 2 else "slow")
"""
    assert bench.python(script, edits=False).record.answer == "quick"


def test_only_the_meter_answers_on_any_port(bench: Any) -> None:
    script = """
import socket
ports = []
for port in range(1, 65536):
    with socket.socket() as s:
        # A port may be given to this very socket, which then talks to itself.
        if s.connect_ex(("127.0.0.1", port)) == 0 and s.getsockname() != s.getpeername():
            ports.append(port)
print(ports, [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]])
"""
    assert bench.python(script, edits=False).record.answer == "[8484] ['lo']"


def test_the_agent_cannot_take_the_meters_port(bench: Any) -> None:
    script = """
import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
try:
    s.bind(("127.0.0.1", 8484)); s.listen(); print("taken")
except OSError as error:
    print("refused" if error.errno == 98 else error)
"""
    assert bench.python(script, edits=False).record.answer == "refused"


def test_verify_has_no_network_at_all(bench: Any) -> None:
    """Not even the meter: what is graded is what the agent left, not what a model says meanwhile."""
    verify = "python3 -c 'import socket; print(socket.socket().connect_ex((\"127.0.0.1\", 8484)))'; exit 7"
    result = bench.run("echo ok", key=Key(verify=verify))
    assert result.text("verify.log") == "111\n"
    assert result.record.verify is not None
    assert result.record.verify.exit_code == 7


def test_two_slots_do_not_see_each_other(bench: Any, new_place: Any) -> None:
    listen = """
import socket
server = socket.create_server(("127.0.0.1", 9999))
server.settimeout(4)
try:
    server.accept(); print("visited")
except TimeoutError:
    print("alone")
"""
    found: list[Any] = []
    with new_place() as other:
        neighbour = threading.Thread(
            target=lambda: found.append(bench.python(listen, edits=False, place=other))
        )
        neighbour.start()
        visit = "import socket, time\ntime.sleep(1)\nprint(socket.socket().connect_ex(('127.0.0.1', 9999)))"
        visitor = bench.python(visit, edits=False)
        neighbour.join()
    assert visitor.record.answer == "111"
    assert [result.record.answer for result in found] == ["alone"]
