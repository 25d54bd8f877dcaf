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
from tiltyard_runner.job import Place

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


PRIVILEGES = """
import ctypes, errno, json, os, stat, subprocess
libc = ctypes.CDLL(None, use_errno=True)
lines = open("/proc/self/status").read().splitlines()
status = dict(line.split(":\\t", 1) for line in lines if ":\\t" in line)
def refused(action):
    try:
        action()
    except PermissionError:
        return True
    except FileNotFoundError:
        return True
    except OSError as error:
        return error.errno == errno.EROFS or error.strerror
    return False
def call(name, *args):
    if getattr(libc, name)(*args) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def syscall(*numbers):
    if libc.syscall(*map(ctypes.c_long, numbers)) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def quiet(*argv):
    return subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL).returncode
import socket
find = ["find", "/", "-xdev", "-perm", "-4000", "-type", "f"]
setuid = subprocess.run(find, capture_output=True, text=True).stdout.split()
pids = [pid for pid in os.listdir("/proc") if pid.isdigit()]
print(json.dumps({
    "uid": [os.getuid(), os.geteuid(), os.getgid(), os.getgroups()],
    "caps": [status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "no_new_privs": status["NoNewPrivs"],
    "seccomp": status["Seccomp"],
    "setuid_programs": len(setuid),
    "su": quiet("su", "-c", "true"),
    "mount_program": quiet("mount", "-t", "tmpfs", "none", "/mnt"),
    "refused": {
        "setuid": refused(lambda: os.setuid(0)),
        "mount": refused(lambda: call("mount", b"none", b"/mnt", b"tmpfs", 0, None)),
        "user namespace": refused(lambda: call("unshare", 0x10000000)),
        "network namespace": refused(lambda: call("unshare", 0x40000000)),
        "setns": refused(lambda: call("setns", os.open("/proc/1/ns/net", os.O_RDONLY), 0)),
        "chroot": refused(lambda: os.chroot("/tmp")),
        "block device": refused(lambda: os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))),
        "character device": refused(lambda: os.mknod("/tmp/mem", stat.S_IFCHR | 0o600, os.makedev(1, 1))),
        "/dev/mem": refused(lambda: open("/dev/mem", "rb")),
        "/dev/kmsg": refused(lambda: open("/dev/kmsg", "rb")),
        "/proc/kcore": refused(lambda: open("/proc/kcore", "rb")) or not os.path.getsize("/proc/kcore"),
        "sysrq": refused(lambda: open("/proc/sysrq-trigger", "w")),
        "sysctl": refused(lambda: open("/proc/sys/kernel/core_pattern", "w")),
        "raw socket": refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
        "packet socket": refused(lambda: socket.socket(17, socket.SOCK_RAW)),
        "vsock": refused(lambda: socket.socket(40, socket.SOCK_STREAM)),
        "vsock with high bits": refused(lambda: syscall(41, 40 | 1 << 32, 1, 0)),
        "kernel keys": refused(lambda: syscall(250, 0, -4)),
        "io_uring": refused(lambda: syscall(425, 8, 0)),
        "bpf": refused(lambda: syscall(321, 0, 0, 0)),
        "sethostname": refused(lambda: socket.sethostname("x")),
        "/etc/passwd": refused(lambda: open("/etc/passwd", "a")),
        "/root": refused(lambda: os.listdir("/root")),
        "docker socket": refused(lambda: os.stat("/var/run/docker.sock")),
        "containerd socket": refused(lambda: os.stat("/run/containerd/containerd.sock")),
        "the forwarder's folder": refused(lambda: os.stat("/run/tiltyard")),
    },
    "devices": sorted(os.listdir("/dev")),
    "processes": sorted({open(f"/proc/{pid}/comm").read().strip() for pid in pids}),
    "unix_sockets": "gw.sock" in open("/proc/net/unix").read(),
    "mounts": "gw.sock" in open("/proc/mounts").read() or "tiltyard" in open("/proc/mounts").read(),
}))
"""


def test_the_agent_has_no_privilege_and_sees_nobody(bench: Any) -> None:
    answer = bench.python(PRIVILEGES, edits=False).record.answer
    found = json.loads(answer)
    assert found["uid"] == [1000, 1000, 1000, []] or found["uid"] == [1000, 1000, 1000, [1000]]
    assert {int(value, 16) for value in found["caps"]} == {0}
    assert (found["no_new_privs"], found["seccomp"]) == ("1", "2")
    assert found["setuid_programs"] > 0, "there must be some that do not help"
    assert found["su"] != 0
    assert found["mount_program"] != 0
    assert {name: answer for name, answer in found["refused"].items() if answer is not True} == {}
    known = {
        "console",
        "core",
        "fd",
        "full",
        "mqueue",
        "null",
        "ptmx",
        "pts",
        "random",
        "shm",
        "stderr",
        "stdin",
    }
    assert set(found["devices"]) - known <= {"stdout", "tty", "urandom", "zero"}
    assert set(found["processes"]) <= {"docker-init", "tini", "sh", "python3"}
    assert not found["unix_sockets"]
    assert not found["mounts"]


def test_verify_has_no_network_at_all(bench: Any) -> None:
    """Not even the meter: what is graded is what the agent left, not what a model says meanwhile."""
    from tiltyard_runner.job import Key  # noqa: PLC0415

    verify = "python3 -c 'import socket; print(socket.socket().connect_ex((\"127.0.0.1\", 8484)))'; exit 7"
    result = bench.run("echo ok", key=Key(verify=verify))
    assert result.text("verify.log") == "111\n"
    assert result.record.verify is not None
    assert result.record.verify.exit_code == 7
