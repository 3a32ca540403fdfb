"""A queue of `core.queues` on blocks in a file, and the order of steps that makes a save safe.

    blocks.flush ─► file.sync ─► manifest ─► blocks.saved

Invariant: the manifest on disk speaks only of slots that were synced before it, and nothing writes to them after.
"""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

import gcs.ports.queues.manifest as manifest
from gcs.core.queues.contract import Counts, Ids, Keys, Queue
from gcs.core.queues.entries import ENTRY_BYTES
from gcs.core.queues.making import Layout, make_paged_queue
from gcs.errors import GcsError, StoreError, UsageError
from gcs.ports.queues.blockfile import BlockFile, store_error
from gcs.ports.queues.manifest import Manifest


@dataclass(frozen=True, slots=True)
class DiskSettings:
    """How a queue lies on disk."""

    #: memory for blocks, at most
    cache_bytes: int = 256 << 20
    #: entries in a block, which is a node of the tournament tree; 16 bytes each
    block_keys: int = 16_384


class DiskQueue:
    """A queue in a folder. filled by: insert_many; emptied by: extract_top; durable by: save."""

    def __init__(self, name: str, folder: Path, settings: DiskSettings, counts: Counts | None) -> None:
        self._name, self._block_keys = name, settings.block_keys
        self._lock = _lock(folder)
        self._manifest = folder / "queue"
        try:
            was = manifest.read(self._manifest)
            if was and (was.name, was.block_keys) != (name, settings.block_keys):
                raise UsageError(
                    f"{folder} holds a {was.name} with {was.block_keys} keys a block, not a {name} with "
                    f"{settings.block_keys}: open it as that, or delete the folder"
                )
            self._file = BlockFile(folder / "blocks", settings.block_keys)
            slots = was.slots if was else None
            self._queue, self._blocks = make_paged_queue(name, self._file, _layout(settings), counts, slots)
            if was:
                self._queue.restore(was.state)
        except GcsError:
            os.close(self._lock)
            raise

    def __len__(self) -> int:
        return len(self._queue)

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in."""
        self._queue.insert_many(keys, ids)

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        """Give out the best pairs, best first."""
        return self._queue.extract_top(count)

    def save(self) -> None:
        """Make the queue durable as it is now. Whatever happens meanwhile, the last save or this one holds."""
        self._blocks.flush()
        self._file.sync()
        saved = Manifest(self._name, self._block_keys, self._blocks.slots, self._queue.state())
        manifest.write(self._manifest, saved)
        self._blocks.saved()

    def close(self) -> None:
        """Let go of the files. What was not saved is dropped: it was never promised."""
        self._file.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def open_queue(
    name: str, folder: Path, settings: DiskSettings | None = None, counts: Counts | None = None
) -> DiskQueue:
    """The queue in this folder, as it was saved; an empty one if there is none yet."""
    return DiskQueue(name, folder, settings or DiskSettings(), counts)


def open_scratch(name: str, folder: Path, settings: DiskSettings) -> Queue:
    """An empty queue on a file that has no name and goes with it: for who can fill it again."""
    file = BlockFile(folder / "scratch", settings.block_keys)
    (folder / "scratch").unlink()
    return make_paged_queue(name, file, _layout(settings))[0]


def _layout(settings: DiskSettings) -> Layout:
    return Layout(settings.block_keys, settings.cache_bytes // (settings.block_keys * ENTRY_BYTES))


def _lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise store_error("open", folder, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StoreError(f"{folder}: another process has this queue open") from None
    return lock
