"""Blocks of entries in a file: slot n lies at n times the size of a block. It knows nothing of what is in use."""

import errno
import os
from pathlib import Path

import numpy as np

from gcs.core.queues.entries import ENTRY_BYTES, Entries
from gcs.errors import DiskFullError, StoreError

_sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


class BlockFile:
    """One open file of blocks."""

    def __init__(self, path: Path, block_keys: int) -> None:
        self._path, self._bytes, self._fd = path, block_keys * ENTRY_BYTES, -1
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise store_error("open", path, error) from error

    def read(self, slot: int) -> Entries:
        """What was written to the slot."""
        block = np.empty(self._bytes // ENTRY_BYTES, np.complex128)
        try:
            got = os.preadv(self._fd, [block.data.cast("B")], slot * self._bytes)
        except OSError as error:
            raise store_error("read", self._path, error) from error
        if got != self._bytes:
            raise StoreError(f"{self._path}: ends within a block: was it cut? Delete its folder to begin anew")
        return block

    def write(self, slot: int, entries: Entries) -> None:
        """Fill the slot."""
        data, at = np.ascontiguousarray(entries).data.cast("B"), slot * self._bytes
        try:
            while data:
                written = os.pwrite(self._fd, data, at)
                data, at = data[written:], at + written
        except OSError as error:
            raise store_error("write", self._path, error) from error

    def sync(self) -> None:
        """Wait until the disk holds what was written."""
        try:
            _sync_data(self._fd)
        except OSError as error:
            raise store_error("write", self._path, error) from error

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


def store_error(verb: str, path: Path, error: OSError) -> StoreError:
    """The error of a file as ours."""
    kind = DiskFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
    return kind(f"{path}: cannot {verb} the queue ({error.strerror})")
