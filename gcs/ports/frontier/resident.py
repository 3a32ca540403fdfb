"""Give back the mapped pages of a file: the kernel keeps them in its cache, but they are not ours any more.

LMDB reads its file through a memory map, and every page it ever touched counts as memory of the process, up to
the size of the file. Letting them go once in a while keeps the process small; a page that is needed again comes back
from the cache in a microsecond. Linux only; elsewhere nothing happens.
"""

import contextlib
import ctypes
from pathlib import Path
from typing import Any

_MADV_DONTNEED = 4
_PAGE_BYTES = 4096
#: look-ups after which the pages of a map of that size are given back (the kernel maps 16 of them at a time)
RELEASE_EVERY, RELEASE_BYTES = 100, 12 << 20


class Resident:
    """The memory map of an LMDB environment in this process."""

    def __init__(self, environment: Any, file: Path) -> None:
        self._environment, self._touched = environment, 0
        self._start, self._length = 0, 0
        with contextlib.suppress(OSError, AttributeError):
            self._madvise = ctypes.CDLL(None, use_errno=True).madvise
            self._madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
            for line in Path("/proc/self/maps").read_text().splitlines():
                if line.endswith(str(file.resolve())):
                    start, _, end = line.partition(" ")[0].partition("-")
                    self._start, self._length = int(start, 16), int(end, 16) - int(start, 16)

    def touch(self, lookups: int) -> None:
        """So many rows were looked up: let the map go, once in a while."""
        self._touched += lookups
        if self._touched >= RELEASE_EVERY:
            self.release()

    def release(self) -> None:
        """Let the map go, if it is large."""
        self._touched = 0
        used_bytes = (self._environment.info()["last_pgno"] + 1) * _PAGE_BYTES
        if self._start and used_bytes > RELEASE_BYTES:
            self._madvise(self._start, min(used_bytes, self._length), _MADV_DONTNEED)
