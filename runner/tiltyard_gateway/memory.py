"""What the allocator does with memory that a request has freed: it keeps some for the next one.

By default glibc gives the top of the heap back as soon as it is free, so every large request has its pages
taken and cleared anew: hundreds of page faults, a fifth of the time that the gateway adds to it.
"""

import ctypes

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
"""Names of glibc's mallopt.h."""
_KEPT = 8 * 1024 * 1024
"""Enough for all copies of a long session's request, and little beside what the process holds anyway."""
_LARGE = 4 * 1024 * 1024
"""What is larger than this has pages of its own, which are given back at once."""


def keep_freed_memory() -> bool:
    """Keep up to some megabytes for the next request; False where the C library has no such option."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all([mallopt(_TRIM_THRESHOLD, _KEPT), mallopt(_MMAP_THRESHOLD, _LARGE)])
