"""The profile is closed by default and names no call that leads out of a container."""

import json
import socket

from tiltyard_runner.seccomp import ALLOWED, profile

NEVER = frozenset(
    [
        "mount",
        "umount2",
        "move_mount",
        "open_tree",
        "fsopen",
        "pivot_root",
        "chroot",
        "unshare",
        "setns",
        "clone3",
        "bpf",
        "perf_event_open",
        "kexec_load",
        "init_module",
        "finit_module",
        "reboot",
        "swapon",
        "iopl",
        "ioperm",
        "keyctl",
        "add_key",
        "request_key",
        "userfaultfd",
        "io_uring_setup",
        "open_by_handle_at",
        "name_to_handle_at",
        "socketcall",
        "quotactl",
        "syslog",
        "settimeofday",
        "sethostname",
        "socket",
        "clone",
        "personality",
    ]
)


def test_what_leads_out_is_not_allowed_without_a_condition() -> None:
    assert {call for call in NEVER if call in ALLOWED} == set()


def test_all_else_is_refused_and_sockets_are_named_one_by_one() -> None:
    rules = json.loads(profile())
    assert rules["defaultAction"] == "SCMP_ACT_ERRNO"
    families = {
        rule["args"][0]["value"]
        for rule in rules["syscalls"]
        if "socket" in rule["names"]
        and rule["action"] == "SCMP_ACT_ALLOW"
        and rule["args"][0]["op"] == "SCMP_CMP_EQ"
    }
    assert families == {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
    assert all(entry["subArchitectures"] is None for entry in rules["archMap"])
