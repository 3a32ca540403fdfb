"""A queue of `core.queues` on blocks in a file, and the order of steps that makes a save safe.

    blocks.flush ─► file.sync ─► manifest ─► blocks.saved

Invariant: the manifest on disk speaks only of slots that were synced before it, and nothing writes to them after.
"""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import xxhash

from gcs.core.queues.contract import Ids, Keys, Queue
from gcs.core.queues.entries import ENTRY_BYTES, Entries
from gcs.core.queues.primitives import Primitives
from gcs.core.queues.queue_forest import Forest
from gcs.core.queues.queue_maker import QueueLayout, make_paged_queue, make_paged_tree
from gcs.errors import GcsError, StoreError, UsageError
from gcs.ports.records.layout import store_error, sync_data, sync_directory
from gcs.ports.system.own_file import open_own, own_stream

VERSION = 1
_HASH_BYTES = 8


class BlockFile:
    """One open file of blocks: slot n lies at n times the size of a block. It knows nothing of what is in use."""

    def __init__(self, path: Path, block_keys: int) -> None:
        self._path, self._bytes, self._fd = path, block_keys * ENTRY_BYTES, -1
        try:
            self._fd = open_own(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise store_error("open", path, error) from error

    def read(self, slot: int) -> Entries:
        block = np.empty(self._bytes // ENTRY_BYTES, np.complex128)
        try:
            got = os.preadv(self._fd, [block.data.cast("B")], slot * self._bytes)
        except OSError as error:
            raise store_error("read", self._path, error) from error
        if got != self._bytes:
            raise StoreError(f"{self._path}: ends within a block: was it cut? Delete its folder to begin anew")
        return block

    def write(self, slot: int, entries: Entries) -> None:
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
            sync_data(self._fd)
        except OSError as error:
            raise store_error("write", self._path, error) from error

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


class Manifest(msgspec.Struct, frozen=True, array_like=True):
    """What a save leaves beside the blocks: which slot holds which, and the rest of the queue. Replaced as a whole."""

    name: str
    block_keys: int
    #: which slot holds which block
    slots: dict[int, int]
    #: the queue but for its blocks
    state: bytes
    version: int = VERSION


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Replace the manifest, durably: it is the old one or the new one, whatever happens."""
    data = msgspec.msgpack.encode(manifest)
    new = path.with_suffix(".new")
    try:
        with own_stream(new, "wb") as file:
            file.write(xxhash.xxh3_64_digest(data))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise store_error("save", path, error) from error


def read_manifest(path: Path) -> Manifest | None:
    """The manifest of the last save; None if there was none."""
    try:
        packed = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise store_error("open", path, error) from error
    data = packed[_HASH_BYTES:]
    if xxhash.xxh3_64_digest(data) != packed[:_HASH_BYTES]:
        raise StoreError(f"{path}: the saved queue is damaged; delete its folder to begin anew")
    try:
        manifest = msgspec.msgpack.decode(data, type=Manifest)
    except msgspec.DecodeError as error:
        raise StoreError(f"{path}: not a queue of this version of GCS ({error})") from error
    if manifest.version != VERSION:
        raise StoreError(f"{path}: version {manifest.version}, this program reads version {VERSION}")
    return manifest


@dataclass(frozen=True, slots=True)
class DiskSettings:
    """How a queue lies on disk."""

    #: memory for blocks, at most
    cache_bytes: int = 256 << 20
    #: entries in a block, which is a node of the tournament tree; 16 bytes each
    block_keys: int = 16_384


class DiskQueue:
    """A queue in a folder. filled by: insert_many; emptied by: extract_top; durable by: save."""

    def __init__(
        self, name: str, folder: Path, settings: DiskSettings = DiskSettings(), do: Primitives | None = None
    ) -> None:
        """The queue in this folder, as it was saved; an empty one if there is none yet."""
        self._name, self._block_keys = name, settings.block_keys
        self._lock = _lock(folder)
        self._manifest = folder / "queue"
        try:
            was = read_manifest(self._manifest)
            if was and (was.name, was.block_keys) != (name, settings.block_keys):
                raise UsageError(
                    f"{folder} holds a {was.name} with {was.block_keys} keys a block, not a {name} with "
                    f"{settings.block_keys}: open it as that, or delete the folder"
                )
            self._file = BlockFile(folder / "blocks", settings.block_keys)
            slots = was.slots if was else None
            self._queue, self._blocks = make_paged_queue(name, self._file, _layout(settings), do, slots)
            if was:
                self._queue.restore(was.state)
        except GcsError:
            os.close(self._lock)
            raise

    def __len__(self) -> int:
        return len(self._queue)

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        self._queue.insert_many(keys, ids)

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        return self._queue.extract_top(count)

    def save(self) -> None:
        """Make the queue durable as it is now. Whatever happens meanwhile, the last save or this one holds."""
        self._blocks.flush()
        self._file.sync()
        saved = Manifest(self._name, self._block_keys, self._blocks.slots, self._queue.state())
        write_manifest(self._manifest, saved)
        self._blocks.saved()

    def close(self) -> None:
        """Close the files. What was not saved is dropped."""
        self._file.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def open_scratch(name: str, folder: Path, settings: DiskSettings) -> Queue:
    """An empty queue on a file that has no name and goes with it, for a caller who can fill it again."""
    return make_paged_queue(name, _scratch(folder, settings), _layout(settings))[0]


def open_forest(folder: Path, settings: DiskSettings, threads: int) -> Forest:
    """Such trees, one on each thread; the settings are those of one of them."""
    return Forest([make_paged_tree(_scratch(folder, settings), _layout(settings))[0] for _ in range(threads)])


def _scratch(folder: Path, settings: DiskSettings) -> BlockFile:
    file = BlockFile(folder / "scratch", settings.block_keys)
    (folder / "scratch").unlink()
    return file


def _layout(settings: DiskSettings) -> QueueLayout:
    return QueueLayout(settings.block_keys, settings.cache_bytes // (settings.block_keys * ENTRY_BYTES))


def _lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open_own(folder / "lock", os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise store_error("open", folder, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StoreError(f"{folder}: another process has this queue open") from None
    return lock
