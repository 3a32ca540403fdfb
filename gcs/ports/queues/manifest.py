"""What a save leaves beside the blocks: which slot holds which block, and the rest of the queue. Replaced as a whole.

The file begins with a hash of what follows, so that a damaged one is told from a whole one.
"""

import os
from pathlib import Path

import msgspec
import xxhash

from gcs.errors import StoreError
from gcs.ports.queues.blockfile import store_error

VERSION = 1
_HASH_BYTES = 8


class Manifest(msgspec.Struct, frozen=True, array_like=True):
    """A saved queue."""

    name: str
    block_keys: int
    #: which slot holds which block
    slots: dict[int, int]
    #: the queue but for its blocks
    state: bytes
    version: int = VERSION


def write(path: Path, manifest: Manifest) -> None:
    """Replace the manifest, durably: it is the old one or the new one, whatever happens."""
    data = msgspec.msgpack.encode(manifest)
    new = path.with_suffix(".new")
    try:
        with new.open("wb") as file:
            file.write(xxhash.xxh3_64_digest(data))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise store_error("save", path, error) from error


def read(path: Path) -> Manifest | None:
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
