"""Who owns a container: the label set that lets a later start tell a leftover from a neighbour's work.

A driver that dies by SIGKILL cannot clean up. Its containers carry the machine, the process and the
process's start time, so that the next start removes exactly those whose driver is gone.
"""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OWNER = "tiltyard.owner"
PID = "tiltyard.pid"
TRIAL = "tiltyard.trial"
RUN = "tiltyard.run"
ATTEMPT = "tiltyard.attempt"
ROLE = "tiltyard.role"


@dataclass(frozen=True, slots=True)
class Owner:
    """One driver process on one machine."""

    machine: str
    """Host name, boot id and process namespace: where a pid has its meaning."""
    pid: int
    started: str
    """Start time of the process in clock ticks since boot, so that a reused pid is not mistaken for it."""

    @classmethod
    def current(cls) -> "Owner":
        """The owner that this process is."""
        pid = os.getpid()
        return cls(machine=_machine(), pid=pid, started=_start_time(pid) or "0")

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> "Owner | None":
        """The owner named by a container's labels, or None when they are not ours."""
        machine, process = labels.get(OWNER), labels.get(PID, "")
        pid, _, started = process.partition(":")
        if machine is None or not pid.isdigit():
            return None
        return cls(machine=machine, pid=int(pid), started=started)

    def labels(self, *, trial: str, role: str, run: str = "", attempt: int = 0) -> dict[str, str]:
        """The labels that a container of this owner carries from before its start."""
        labels = {OWNER: self.machine, PID: f"{self.pid}:{self.started}", TRIAL: trial, ROLE: role}
        return labels | ({RUN: run, ATTEMPT: str(attempt)} if run else {})

    def is_dead(self) -> bool:
        """Whether the process is known to be gone; one of another machine never is."""
        return self.machine == _machine() and _start_time(self.pid) != self.started


@cache
def _machine() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    boot_id = boot.read_text().strip() if boot.exists() else ""
    pid_namespace = str(namespace.readlink()) if namespace.exists() else ""
    return f"{socket.gethostname()}:{boot_id}:{pid_namespace}"


def _start_time(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat (proc(5)), or None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command name stands in parentheses and may hold spaces: count fields after it.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]
