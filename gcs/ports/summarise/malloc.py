"""Keep freed memory in the process between pages.

glibc gives the top of its arena back to the kernel whenever 128 KB of it are free, and maps anything
larger on its own: when a parse tree lies there, every page pays for page faults (8 of them, 74 µs a
parse in place of 54; nothing where something else happens to lie above it). Raising both thresholds
makes the good case the rule. The price is that a process keeps
its peak (bounded by the largest page). Does nothing where the C library is not glibc.
"""

import ctypes

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
#: free memory at the top of the arena that is kept
_TRIM_BYTES = 256 * 1024 * 1024
#: largest value that glibc takes on 64 bits (HEAP_MAX_SIZE / 2)
_MMAP_BYTES = 32 * 1024 * 1024


def keep_arena() -> bool:
    """Raise glibc's thresholds for the whole process; False where there is no glibc to tell."""
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018  musl and macOS have mallopt-less or other allocators
        mallopt = libc.mallopt
    except (OSError, AttributeError, TypeError):
        return False
    mallopt.argtypes = (ctypes.c_int, ctypes.c_int)
    mallopt.restype = ctypes.c_int
    return bool(mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES) and mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES))
