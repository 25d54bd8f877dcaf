"""The system calls that a run may make, as a seccomp profile for the engine.

Stricter than the engine's own profile where a sealed run needs it: the engine's lets a process open any
family of sockets, and AF_VSOCK leads past the network namespace to the host of a virtual machine. Here a
socket is local, IP or netlink. Only the machine's native calls exist: the 32-bit ones, whose `socketcall`
hides the family from any filter, do not. Whoever is refused gets EPERM.
"""

import json
import socket
from functools import cache

_FILES = """
    access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
    fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr
    flistxattr flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents
    getdents64 getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl lchown lgetxattr
    link linkat listxattr llistxattr lremovexattr lseek lsetxattr lstat memfd_create mkdir mkdirat mknod
    mknodat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead
    readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile setxattr splice stat
    statfs statx symlink symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat utime
    utimensat utimes vmsplice write writev
"""
_WAITING = """
    epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old
    eventfd eventfd2 io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit pipe pipe2 poll
    ppoll pselect6 select signalfd signalfd4
"""
_MEMORY = """
    brk cachestat madvise map_shadow_stack membarrier mincore mlock mlock2 mlockall mmap mprotect mremap
    msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease remap_file_pages
"""
_PROCESSES = """
    arch_prctl capget capset execve execveat exit exit_group fork get_robust_list get_thread_area getcpu
    getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority getresgid getresuid
    getrlimit getrusage getsid gettid getuid ioprio_get ioprio_set landlock_add_rule landlock_create_ruleset
    landlock_restrict_self pidfd_open pidfd_send_signal prctl prlimit64 process_vm_readv process_vm_writev
    ptrace riscv_flush_icache riscv_hwprobe rseq sched_get_priority_max sched_get_priority_min
    sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
    sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp set_robust_list
    set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setpgid setpriority setregid
    setresgid setresuid setreuid setrlimit setsid setuid sysinfo time times uname vfork wait4 waitid
"""
_SIGNALS_AND_TIME = """
    alarm clock_getres clock_gettime clock_nanosleep futex futex_requeue futex_wait futex_waitv futex_wake
    getitimer getrandom gettimeofday kill nanosleep pause restart_syscall rt_sigaction rt_sigpending
    rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer
    sigaltstack tgkill timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
    timerfd_gettime timerfd_settime tkill
"""
_TALKING = """
    accept accept4 bind connect getpeername getsockname getsockopt listen mq_getsetattr mq_notify mq_open
    mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd recvfrom recvmmsg recvmsg semctl
    semget semop semtimedop sendmmsg sendmsg sendto setsockopt shmat shmctl shmdt shmget shutdown
"""
ALLOWED = frozenset(f"{_FILES} {_WAITING} {_MEMORY} {_PROCESSES} {_SIGNALS_AND_TIME} {_TALKING}".split())
"""Calls that are allowed whatever their arguments."""

SOCKET_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
_PERSONALITIES = (0x0, 0x40000, 0x20000, 0x60000, 0xFFFFFFFF)
"""Plain Linux, without address randomisation (debuggers want that), an old version number, both; a query."""
_NEW_NAMESPACES = 0x7E020000
"""Every CLONE_NEW* flag of `clone`."""
_ENOSYS = 38


@cache
def profile() -> str:
    """The profile as the JSON that the engine takes in `seccomp=`."""
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "archMap": [
                {"architecture": name, "subArchitectures": None}
                for name in ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64", "SCMP_ARCH_RISCV64")
            ],
            "syscalls": [
                {"names": sorted(ALLOWED), "action": "SCMP_ACT_ALLOW"},
                *(_when(call, family) for call in ("socket", "socketpair") for family in SOCKET_FAMILIES),
                *(_when("personality", persona) for persona in _PERSONALITIES),
                _clone(),
                # Its flags lie in memory, where no filter can see them; libraries then fall back to `clone`.
                {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
            ],
        }
    )


def _when(call: str, first_argument: int) -> dict[str, object]:
    """Allowed with exactly this first argument: one with stray high bits, which the kernel drops, is not."""
    test = {"index": 0, "value": int(first_argument), "op": "SCMP_CMP_EQ"}
    return {"names": [call], "action": "SCMP_ACT_ALLOW", "args": [test]}


def _clone() -> dict[str, object]:
    """Processes and threads, but no new namespaces."""
    test = {"index": 0, "value": _NEW_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    return {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [test]}
