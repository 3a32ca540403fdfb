"""Keep freed memory in the process, where it is soon needed again.

glibc gives the top of its arena back to the kernel whenever 128 KB of it are free, and maps anything
larger on its own: when a parse tree lies there, every page pays for page faults (8 of them, 74 µs a
parse in place of 54; nothing where something else happens to lie above it), and METIS spends half of its time
on them. Raising the thresholds makes the good case the rule. The price is that a process keeps
its peak. Does nothing where the C library is not glibc.

It changes the allocator of the process and nothing else: the one module of `core` that has an effect.
"""

import ctypes

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_MMAP_MAX = -4
#: free memory at the top of the arena that is kept
_TRIM_BYTES = 256 * 1024 * 1024
#: largest value that glibc takes on 64 bits (HEAP_MAX_SIZE / 2)
_MMAP_BYTES = 32 * 1024 * 1024
#: what mallopt takes for "never"
_NEVER_TRIM, _NEVER_MAP = -1, 0


def keep_arena() -> bool:
    """Keep up to 256 MB for the whole process, for blocks of up to 32 MB; False where there is no glibc to tell."""
    return _tell({_M_TRIM_THRESHOLD: _TRIM_BYTES, _M_MMAP_THRESHOLD: _MMAP_BYTES})


def keep_everything() -> bool:
    """Give nothing back, however large: for a process that ends with its work."""
    return _tell({_M_TRIM_THRESHOLD: _NEVER_TRIM, _M_MMAP_MAX: _NEVER_MAP})


def _tell(settings: dict[int, int]) -> bool:
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018  musl and macOS have mallopt-less or other allocators
        mallopt = libc.mallopt
    except (OSError, AttributeError, TypeError):
        return False
    mallopt.argtypes = (ctypes.c_int, ctypes.c_int)
    mallopt.restype = ctypes.c_int
    return all(mallopt(name, value) for name, value in settings.items())
