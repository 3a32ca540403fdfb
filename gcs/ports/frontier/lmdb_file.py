"""An LMDB file in a directory: opened by one process at a time, with errors that say what to do, and little memory.

Used by the frontier and by the URL-Registry. `MmapTrim` gives mapped pages of the file back to the kernel, which keeps
them in its cache: they do not count as memory of this process any more. `peek` looks at a frontier from outside, while
its gatherer runs or when it does not; it only reads.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import lmdb

from gcs.errors import DamagedError, DiskFullError, InUseError, StoreError
from gcs.ports.frontier.soundness import DATA, SEAL, break_seal, damage_of, write_seal
from gcs.ports.records.layout import set_aside
from gcs.ports.system.own_file import own_stream, refuse_links

#: address space reserved for the map, and less where there is no more (kernels with short addresses, ulimit -v); the
#: file grows only as it fills
MAP_BYTES = (1 << 40, 1 << 37, 1 << 34)
#: tables that a file may have
MAX_TABLES = 12
#: less free space than this is a full disk
FULL_BYTES = 1 << 20
#: what LMDB says of a file that it did not write, or not to the end
_DAMAGE = (lmdb.InvalidError, lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.VersionMismatchError, lmdb.PanicError)
_MADV_DONTNEED = 4
_PAGE_BYTES = 4096
_LOOKING = threading.Lock()
#: look-ups after which the pages of a map of that size are given back (the kernel maps 16 of them at a time)
RELEASE_EVERY, RELEASE_BYTES = 100, 12 << 20


class MmapTrim:
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
        """Count rows that were looked up; release the pages once in a while."""
        self._touched += lookups
        if self._touched >= RELEASE_EVERY:
            self.release()

    def release(self) -> None:
        """Give the mapped pages back, if they are many."""
        self._touched = 0
        used_bytes = (self._environment.info()["last_pgno"] + 1) * _PAGE_BYTES
        if self._start and used_bytes > RELEASE_BYTES:
            self._madvise(self._start, min(used_bytes, self._length), _MADV_DONTNEED)


def lock(directory: Path) -> IO[Any]:
    """Make the directory, and hold it against other processes until the handle is closed."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        refuse_links((directory / "data.mdb", directory / "lock.mdb"))
        handle = own_stream(directory / "lock", "w")
    except OSError as error:
        raise store_error(directory, error) from error
    for wait_s in (0.05, 0.2, None):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if wait_s:
                time.sleep(wait_s)  # it may be `peek`, which ends at once
    handle.close()
    raise InUseError(f"{directory}: another crawl is running here; stop it or choose another -o DIR")


def open_environment(directory: Path, fsync: bool) -> Any:
    """The LMDB environment in a directory that is locked. Raises DamagedError if its file is damaged."""
    if why := damage_of(directory):
        raise DamagedError(f"{directory / DATA} is damaged: it {why}")
    try:
        break_seal(directory, fsync)
        return _open_mapped(os.fspath(directory), fsync)
    except (lmdb.Error, OSError) as error:
        raise store_error(directory, error) from error


def _open_mapped(path: str, fsync: bool) -> Any:
    """With the largest map that there is room for."""
    for size in MAP_BYTES[:-1]:
        with contextlib.suppress(lmdb.MemoryError):
            return _open(path, size, fsync)
    return _open(path, MAP_BYTES[-1], fsync)


def _open(path: str, size: int, fsync: bool) -> Any:
    # readahead off: access is by key, and a read-ahead page counts as our memory
    return lmdb.open(path, map_size=size, max_dbs=MAX_TABLES, sync=fsync, readahead=False, meminit=False)


def close_environment(environment: Any, directory: Path) -> None:
    """Close the file, and seal it."""
    environment.close()
    with contextlib.suppress(OSError):  # a full disk: the next start reads every row instead
        write_seal(directory)


def discard(directory: Path) -> Path:
    """Set a file that cannot be used any more aside, under the name that is returned."""
    for name in ("lock.mdb", SEAL):
        (directory / name).unlink(missing_ok=True)
    data = directory / DATA
    return set_aside(data) if data.exists() else data


def store_error(directory: Path, error: Exception) -> StoreError:
    """The error for the user: a full disk, a damaged file, or no access."""
    no_room = isinstance(error, lmdb.DiskError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    if no_room or (isinstance(error, lmdb.Error) and _is_full(directory)):
        return DiskFullError(f"{directory}: the disk is full")
    if isinstance(error, _DAMAGE):
        return DamagedError(f"{directory / DATA} is damaged: {str(error).removeprefix(f'{directory}: ')}")
    if isinstance(error, OSError):
        return StoreError(f"{directory}: cannot write here ({error.strerror}); choose another -o DIR")
    return StoreError(f"{directory}: {error}")


def _is_full(directory: Path) -> bool:
    """LMDB calls a write that the disk takes only in part an input/output error."""
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize < FULL_BYTES


@dataclass(frozen=True, slots=True)
class FrontierPeek:
    """A frontier as of its last commit."""

    is_running: bool
    #: the gatherer's `Share`, if it has written one
    share: bytes | None


def peek(directory: Path) -> FrontierPeek:
    """Look at a frontier. Raises DamagedError if its file is damaged."""
    with looking(directory) as (environment, txn, is_running):
        share = None
        if txn.get(b"notes") is not None:
            share = txn.get(b"share", db=environment.open_db(b"notes", txn, create=False))
    return FrontierPeek(is_running, share)


@contextlib.contextmanager
def looking(directory: Path) -> Iterator[tuple[Any, Any, bool]]:
    """A frontier as of its last commit: environment, transaction that reads, and whether its gatherer runs.

    One thread at a time: LMDB's locks are those of the process. Raises DamagedError if the file is damaged.
    """
    is_running = is_locked(directory)
    if not is_running and (why := damage_of(directory)):
        raise DamagedError(f"{directory / DATA} is damaged: it {why}")
    with _LOOKING:
        try:
            # without a lock where none can be written: then nobody else writes either
            locks = os.access(directory, os.W_OK)
            refuse_links((directory / "data.mdb", directory / "lock.mdb"))
            environment = lmdb.open(os.fspath(directory), readonly=True, max_dbs=MAX_TABLES, lock=locks)
        except (lmdb.Error, OSError) as error:
            raise StoreError(f"{directory}: the frontier cannot be read ({error})") from None
        with environment, environment.begin() as txn:
            yield environment, txn, is_running


def is_locked(directory: Path) -> bool:
    """Whether a process has the frontier open."""
    try:
        with (directory / "lock").open("r") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False
