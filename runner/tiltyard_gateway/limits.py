"""Room for many connections at once: each stream holds two descriptors, and the usual soft limit is 1024."""

import resource

BACKLOG = 1024
"""Connections that may wait to be accepted; a unix socket refuses beyond it at once."""


def raise_open_files() -> None:
    """Lift this process's soft limit on open files to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
