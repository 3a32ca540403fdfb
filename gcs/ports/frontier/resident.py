"""Give back the mapped pages of a file: the kernel keeps them in its cache, but they are not ours any more.

LMDB reads its file through a memory map, and every page it ever touched counts as memory of the process, up to
the size of the file. Letting them go once in a while keeps the process small; a page that is needed again comes back
from the cache in a microsecond. Linux only; elsewhere nothing happens.
"""

import contextlib
import ctypes
from pathlib import Path

_MADV_DONTNEED = 4


class Resident:
    """The memory map of one file in this process."""

    def __init__(self, file: Path) -> None:
        self._start, self._length = 0, 0
        with contextlib.suppress(OSError, AttributeError):
            self._madvise = ctypes.CDLL(None, use_errno=True).madvise
            self._madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
            for line in Path("/proc/self/maps").read_text().splitlines():
                if line.endswith(str(file.resolve())):
                    start, _, end = line.partition(" ")[0].partition("-")
                    self._start, self._length = int(start, 16), int(end, 16) - int(start, 16)

    def release(self, used_bytes: int) -> None:
        """Let the pages of the first `used_bytes` go."""
        if self._start:
            self._madvise(self._start, min(used_bytes, self._length), _MADV_DONTNEED)
