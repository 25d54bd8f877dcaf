"""From inside a run: no privilege, no device, nobody else's process; and ordinary work as anywhere."""

import json
from typing import Any

import pytest

pytestmark = [pytest.mark.engine]

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


def test_without_edits_the_processes_of_setup_are_out_of_reach(bench: Any) -> None:
    script = """
import ctypes, os
libc = ctypes.CDLL(None)
others = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and os.stat("/proc/" + pid).st_uid == 0]
refused = []
for pid in others:
    refused.append(libc.ptrace(16, pid, None, None) == -1)
    read = [lambda name=name: open(f"/proc/{pid}/{name}").read() for name in ("environ", "mem")]
    for action in (lambda: os.kill(pid, 9), *read):
        try:
            action(); refused.append(False)
        except PermissionError:
            refused.append(True)
print(len(others), all(refused))
"""
    result = bench.python(script, edits=False, setup=("(sleep 300 >/dev/null 2>&1 &)",))
    # What setup left, and the two that keep the container up.
    assert result.record.answer == "3 True"


def test_ordinary_work_is_not_hindered(bench: Any) -> None:
    script = """
set -e
node -e 'require("child_process").execSync("true")'
node -e 'new (require("worker_threads").Worker)("1", {eval: true})'
python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'
python3 -c 'import sqlite3; sqlite3.connect("/tmp/db").execute("create table t (x)")'
python3 -c 'import concurrent.futures as f; f.ThreadPoolExecutor(4).submit(int).result()'
python3 -m venv --without-pip /tmp/venv && /tmp/venv/bin/python -c 1
git status --short && rg -c return calc.py && ps -ef > /dev/null
"""
    result = bench.run(script)
    assert result.record.exit_code == 0, result.text("raw.err")
