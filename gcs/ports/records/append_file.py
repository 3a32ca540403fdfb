"""A file that only grows, by whole flushes: what carries the record log and the WARC files.

What is appended waits in memory until `flush` writes it in one go. If the write fails half way (a
full disk, a quota), the file is cut back to its length before the flush and the bytes keep waiting, so
that what was stored stays valid and a later flush may still succeed.

Invariant: the file on disk is the concatenation of whole flushes. It knows nothing of what it holds.
"""

import errno
import os
from pathlib import Path

from gcs.errors import DiskFullError, StoreError

sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


class AppendFile:
    """One open file at its end. `size_bytes` is what is on disk, `end` counts what waits too."""

    def __init__(self, path: Path, *, exclusive: bool = False) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_EXCL if exclusive else 0)
        try:
            self._fd = os.open(path, flags, 0o644)
            self.size_bytes = os.lseek(self._fd, 0, os.SEEK_END)
        except OSError as error:
            raise store_error("open", path, error) from error
        self.path = path
        self.pending_bytes = 0
        self._pending: list[bytes] = []
        self._dirty = True  # what an earlier process wrote may not be on the disk yet

    @property
    def end(self) -> int:
        """Where the next append will lie."""
        return self.size_bytes + self.pending_bytes

    def append(self, data: bytes) -> None:
        """Take bytes in; nothing is written before `flush`."""
        self._pending.append(data)
        self.pending_bytes += len(data)

    def flush(self) -> None:
        """Write out all that waits, or nothing of it."""
        if not self._pending:
            return
        data = memoryview(b"".join(self._pending))
        self._dirty = True
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            os.ftruncate(self._fd, self.size_bytes)  # back to where it was before
            os.lseek(self._fd, self.size_bytes, os.SEEK_SET)
            raise store_error("write", self.path, error) from error
        self.size_bytes += self.pending_bytes
        self.pending_bytes = 0
        self._pending.clear()

    def sync(self) -> None:
        """`flush`, then wait until the disk holds it."""
        self.flush()
        if self._dirty:
            try:
                sync_data(self._fd)
            except OSError as error:
                raise store_error("write", self.path, error) from error
            self._dirty = False

    def close(self) -> None:
        """Close the file. What was not flushed is dropped."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: created, renamed and removed files."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise store_error("write", path, error) from error


def store_error(verb: str, path: Path, error: OSError) -> StoreError:
    """One line for the user: what could not be done, where, and why."""
    kind = DiskFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
    return kind(f"cannot {verb} {path}: {error.strerror or error}")
