"""The URL-Registry of a seed-server: its nodes (a URL, its worth, and the client that has it), and its tables in LMDB.

    nodes      DocID → Node
    best       domain, rank, DocID of every URL that is held: the best seeds of a domain are one short scan
    out        client, domain, DocID of every URL that a client has
    counts     domain → how many are held, out and visited
    notes      whatever else must survive

Invariants
- A node that is held has one row in `best`, one that is out one in `out`, one that is visited none.
- Nothing is durable before `commit`, and everything before it is: a crash falls back to the last commit.
- One writer: all calls come from one thread of one process.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from struct import Struct
from types import MappingProxyType
from typing import Any

import lmdb
import msgspec
import xxhash

from gcs.core.messages.tuples import Link
from gcs.core.ordering import GIFT, Found, Ordering
from gcs.core.url.queued_url import QueuedUrl
from gcs.errors import DamagedError, StoreError
from gcs.ports.frontier.lmdb_file import close_environment, lock, open_environment, store_error

_COUNT = Struct(">QQQ")
_RANK = Struct(">I")
_SEPARATOR = b"\x00"  # in no host name
_DOCID_BYTES = 16
#: nodes that are renewed at a time
_SLICE = 10_000
_SESSION = "session"
_NO_COPIES: Mapping[str, QueuedUrl] = MappingProxyType({})


class UrlState(StrEnum):
    """Held by the server, out with a client, or visited."""

    HELD = "h"
    OUT = "o"
    VISITED = "v"


class Node(msgspec.Struct, frozen=True, array_like=True):
    """One URL. Its DocID is a hash of it; LMDB's tree takes the place of the paper's buckets."""

    url: str
    domain: str
    parent: str = ""
    depth: int = 0
    #: back-links, or what else the ordering adds up
    worth: float = 0.0
    rank: int = 0
    state: UrlState = UrlState.HELD
    #: the client that has it, while it is out
    client: str = ""
    #: what the last session knew of it; until it is visited in this one
    copy: QueuedUrl | None = None


def docid(url: str) -> bytes:
    return xxhash.xxh3_128_digest(url.encode())


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Node).decode


@dataclass(frozen=True, slots=True)
class Count:
    """How many URLs of a domain there are, by state."""

    held: int = 0
    out: int = 0
    visited: int = 0


class UrlRegistry:
    """All URLs that a seed-server knows, in a directory that can be opened again after `close` or a crash."""

    def __init__(self, directory: Path, order: Ordering, fsync: bool = True) -> None:
        self._directory, self._order = directory, order
        self._lock = lock(directory)
        try:
            self._env = open_environment(directory, fsync)
        except DamagedError as error:
            self._lock.close()
            raise StoreError(
                f"{error}; nobody else knows the URLs in it: restore the file, or begin the crawl in another directory"
            ) from None
        try:
            self._nodes, self._best, self._out, self._counts, self._notes = (
                self._env.open_db(name) for name in (b"nodes", b"best", b"out", b"counts", b"notes")
            )
        except lmdb.Error as error:
            raise store_error(directory, error) from error
        self._txn = self._env.begin(write=True)

    def add(self, links: Iterable[tuple[Link, str]], copies: Mapping[str, QueuedUrl] = _NO_COPIES) -> int:
        """Links, each with its domain: count them for their URLs; returns how many of those are new.

        The weight of a link is added to the worth of its URL; what waits moves to its new place in the order. `copies`
        is what the last session knew of some URLs.
        """
        new = 0
        for link, domain in links:
            key = docid(link.url)
            row = self._txn.get(key, db=self._nodes)
            if row is None and link.depth == GIFT:
                continue  # its URL was never known here: it is outside of the crawl
            copy = copies.get(link.url)
            if row is None:
                new += 1
                worth = self._order.seed + link.weight
                self._put(key, self._ranked(Node(link.url, domain, link.parent, link.depth, worth, copy=copy)))
                self._count(domain, held=1)
                continue
            node: Node = _decode(row)
            more = link.weight if self._order.weighs else 0
            if not more and (copy is None or node.state is UrlState.VISITED):
                continue
            if node.state is UrlState.HELD:
                self._txn.delete(_best_key(node, key), db=self._best)
            self._put(key, self._ranked(msgspec.structs.replace(node, worth=node.worth + more, copy=copy or node.copy)))
        return new

    def renew(self, session: int) -> None:
        """Begin a session: visited URLs are to be visited again. Does nothing if the session has begun before."""
        if session <= self.session:
            return
        again, after = Counter[str](), b""
        while keys := self._keys(after):
            after = keys[-1]
            for key in keys:
                node = self._node(key)
                if node.state is UrlState.VISITED:
                    self._put(key, self._ranked(msgspec.structs.replace(node, state=UrlState.HELD)))
                    again[node.domain] += 1
        for domain, count in again.items():
            self._count(domain, held=count, visited=-count)
        self.set_note(_SESSION, str(session).encode())
        self.commit()

    @property
    def session(self) -> int:
        """The session under way."""
        return int(self.note(_SESSION) or 1)

    def hand_out(self, domain: str, client: str, most: int) -> list[Node]:
        """The best seeds of a domain, which the client has from now on."""
        keys: list[bytes] = []
        begin = domain.encode() + _SEPARATOR
        with self._txn.cursor(self._best) as cursor:
            ok = cursor.set_range(begin)
            while ok and len(keys) < most and cursor.key().startswith(begin):
                keys.append(cursor.key()[-_DOCID_BYTES:])
                ok = cursor.delete()
        nodes = [msgspec.structs.replace(self._node(key), state=UrlState.OUT, client=client) for key in keys]
        for key, node in zip(keys, nodes):
            self._put(key, node)
        if keys:
            self._count(domain, held=-len(keys), out=len(keys))
        return nodes

    def best(self, domain: str) -> Node | None:
        """The best seed of a domain, which stays where it is."""
        begin = domain.encode() + _SEPARATOR
        with self._txn.cursor(self._best) as cursor:
            if cursor.set_range(begin) and cursor.key().startswith(begin):
                return self._node(cursor.key()[-_DOCID_BYTES:])
        return None

    def visited(self, urls: Iterable[str]) -> int:
        """Mark these URLs as visited; returns how many were not marked before."""
        changed = 0
        for url in urls:
            key, node = docid(url), self.node(url)
            if node is None or node.state is UrlState.VISITED:
                continue
            changed += 1
            held = node.state is UrlState.HELD
            if held:
                self._txn.delete(_best_key(node, key), db=self._best)
            else:
                self._txn.delete(_out_key(node, key), db=self._out)
            self._put(key, msgspec.structs.replace(node, state=UrlState.VISITED, client="", copy=None))
            self._count(node.domain, held=-held, out=held - 1, visited=1)
        return changed

    def out_with(self, client: str) -> list[Node]:
        nodes: list[Node] = []
        begin = client.encode() + _SEPARATOR
        with self._txn.cursor(self._out) as cursor:
            ok = cursor.set_range(begin)
            while ok and cursor.key().startswith(begin):
                nodes.append(self._node(cursor.key()[-_DOCID_BYTES:]))
                ok = cursor.next()
        return nodes

    def take_back(self, client: str) -> int:
        """Take back the URLs that a client has; returns how many."""
        nodes = self.out_with(client)
        for node in nodes:
            key = docid(node.url)
            self._txn.delete(_out_key(node, key), db=self._out)
            self._put(key, self._ranked(msgspec.structs.replace(node, state=UrlState.HELD, client="")))
            self._count(node.domain, held=1, out=-1)
        return len(nodes)

    def counts(self) -> dict[str, Count]:
        with self._txn.cursor(self._counts) as cursor:
            return {key.decode(): Count(*_COUNT.unpack(value)) for key, value in cursor}

    def node(self, url: str) -> Node | None:
        row = self._txn.get(docid(url), db=self._nodes)
        return _decode(row) if row is not None else None

    def note(self, name: str) -> bytes | None:
        value: bytes | None = self._txn.get(name.encode(), db=self._notes)
        return value

    def set_note(self, name: str, value: bytes) -> None:
        self._txn.put(name.encode(), value, db=self._notes)

    def commit(self) -> None:
        try:
            self._txn.commit()
        except lmdb.Error as error:
            raise store_error(self._directory, error) from error
        self._txn = self._env.begin(write=True)

    def close(self) -> None:
        """Close the file; what was not committed is forgotten."""
        self._txn.abort()
        close_environment(self._env, self._directory)
        self._lock.close()

    def _ranked(self, node: Node) -> Node:
        known = msgspec.structs.replace(node.copy or QueuedUrl(node.url), parent=node.parent, depth=node.depth)
        found = Found.of(known, int(node.worth))
        return msgspec.structs.replace(node, rank=self._order.rank(found, node.worth))

    def _put(self, key: bytes, node: Node) -> None:
        self._txn.put(key, _encode(node), db=self._nodes)
        if node.state is UrlState.HELD:
            self._txn.put(_best_key(node, key), b"", db=self._best)
        elif node.state is UrlState.OUT:
            self._txn.put(_out_key(node, key), b"", db=self._out)

    def _keys(self, after: bytes) -> list[bytes]:
        """The next DocIDs behind this one."""
        with self._txn.cursor(self._nodes) as cursor:
            found = cursor.set_range(after + b"\x00") if after else cursor.first()
            return [bytes(key) for key in islice(cursor.iternext(values=False), _SLICE)] if found else []

    def _node(self, key: Any) -> Node:
        node: Node = _decode(self._txn.get(key, db=self._nodes))
        return node

    def _count(self, domain: str, held: int = 0, out: int = 0, visited: int = 0) -> None:
        row = self._txn.get(domain.encode(), db=self._counts)
        now = _COUNT.unpack(row) if row is not None else (0, 0, 0)
        self._txn.put(domain.encode(), _COUNT.pack(now[0] + held, now[1] + out, now[2] + visited), db=self._counts)


def _best_key(node: Node, key: bytes) -> bytes:
    return node.domain.encode() + _SEPARATOR + _RANK.pack(node.rank) + key


def _out_key(node: Node, key: bytes) -> bytes:
    return node.client.encode() + _SEPARATOR + node.domain.encode() + _SEPARATOR + key
