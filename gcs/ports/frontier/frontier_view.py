"""A frontier for people: its URL tree, what waits for a host, and robots.txt. It is read from outside."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lmdb
import msgspec

from gcs.core.messages.tuples import SuperpagePatch
from gcs.core.page.robots import Robots, StoredRobots
from gcs.core.url.sortkey import host_key
from gcs.errors import CodecError, GcsError
from gcs.ports.frontier.lmdb_file import looking
from gcs.ports.frontier.url_rows import Mark

#: keys that are looked at for a tree, and URLs of a host that are counted
MOST_KEYS, MOST_QUEUED = 1_000_000, 100_000


class KeptRobots(NamedTuple):
    """The rules of an origin as a gatherer has filed them."""

    origin: str
    expires_at: float
    robots: Robots


def tree_of(directory: Path, points: int) -> list[SuperpagePatch]:
    """The URL tree of a frontier as one patch, with about so many points; of a large one, of its first million keys."""
    keys: list[bytes] = []
    queued = seen = 0
    stride = 1
    for key, mark in _rows(directory, b"urls", b""):
        if seen % stride == 0:
            keys.append(key)
            if len(keys) >= 2 * points:  # every other one is enough
                keys, stride = keys[::2], stride * 2
        seen += 1
        queued += mark[:1] == Mark.QUEUED.value
        if seen >= MOST_KEYS:
            break
    return [SuperpagePatch(b"", seen, queued, seen - queued, [(key, 1.0) for key in keys])] if seen else []


def queued_at(directory: Path, hosts: list[str]) -> dict[str, int]:
    """How many URLs wait for each host on disk, counted up to `MOST_QUEUED`."""
    found = {}
    for host in hosts:
        low = host_key(host) + b"\x00/"
        found[host] = sum(1 for _ in _rows(directory, b"queue", low, low[:-1] + b"0", MOST_QUEUED))
    return found


def robots_at(directory: Path, host: str) -> list[KeptRobots]:
    """The rules of the origins of a host."""
    found = []
    for scheme in ("http", "https"):
        prefix = f"robots {scheme}://{host}".encode()
        for name, packed in _rows(directory, b"notes", prefix, prefix + b"\xff", 100):
            origin = name.decode("utf-8", "replace").removeprefix("robots ")
            if origin.removeprefix(f"{scheme}://{host}")[:1] not in ("", ":"):
                continue  # another host, whose name begins so
            try:
                filed = msgspec.msgpack.decode(packed, type=StoredRobots)
                found.append(KeptRobots(origin, filed.expires_at, Robots.decode(filed.robots)))
            except (msgspec.MsgspecError, CodecError):
                continue
    return found


def _rows(
    directory: Path, table: bytes, low: bytes, high: bytes | None = None, most: int = 1 << 62
) -> Iterator[tuple[bytes, bytes]]:
    """Rows of a table; none if the frontier cannot be read: it is only for people."""
    try:
        with looking(directory) as (environment, txn, _):
            if txn.get(table) is None:
                return
            with txn.cursor(db=environment.open_db(table, txn, create=False)) as cursor:
                yield from _between(cursor, low, high, most)
    except (lmdb.Error, GcsError):
        return


def _between(cursor: Any, low: bytes, high: bytes | None, most: int) -> Iterator[tuple[bytes, bytes]]:
    if not (cursor.set_range(low) if low else cursor.first()):
        return
    for key, value in cursor.iternext():
        if most <= 0 or (high is not None and key >= high):
            return
        most -= 1
        yield key, value
