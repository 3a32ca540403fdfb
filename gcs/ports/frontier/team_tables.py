"""What the frontier of a gatherer in a team has more: the c-hit table, held URLs, those that are set aside, the
outbox, serial numbers of blocks.

The tables live in the frontier's file and transaction, so that a page's mark, the foreign URLs found on it and the
block in which they leave become durable in one step.

A block may arrive twice. URLs are then known already, but their worth would be counted twice: so each block has a
serial number, and the last numbers of each sender are kept, committed together with the effects of their blocks.

Invariant: a block stays in the outbox until `drop_block`; a held URL stays until `release` hands it to the frontier.
Numbers of blocks are not used twice while the frontier is open: a late `drop_block` of one that is gone hits no other.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
from xxhash import xxh3_128_digest

from gcs.core.ordering import GIFT
from gcs.core.plan.keyspace import Keyspace
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import FIRST_KEY
from gcs.ports.frontier.url_rows import Mark, decode, encode, key_of, short

#: serial numbers of a sender that are remembered: a block that comes again later than that counts twice
SERIALS_KEPT = 10_000

QUEUED = Mark.QUEUED.value


class TeamTables:
    """The exchange tables of a frontier."""

    def __init__(self, environment: Any, txn: Callable[[], Any]) -> None:
        self._txn = txn
        self._sent, self._held, self._outbox, self._serials, self._abroad = (
            environment.open_db(name) for name in (b"sent", b"held", b"outbox", b"serials", b"abroad")
        )
        self._last_block = 0

    def post(self, key: bytes) -> bool:
        """Note that a foreign URL is being posted; False if it was before (the c-hit table)."""
        return bool(self._txn().put(short(key), b"", overwrite=False, db=self._sent))

    def was_posted(self, key: bytes) -> bool:
        return self._txn().get(short(key), db=self._sent) is not None

    def forget_posts(self, low: bytes, high: bytes, keyspace: Keyspace) -> None:
        """Forget what was posted of a range that this gatherer owns now."""
        for _ in self._pop(self._sent, low, high, keyspace):
            pass

    def forget(self) -> None:
        """Begin a session: forget every post. Held URLs stay, for the new plan to decide."""
        self._txn().drop(self._sent, delete=False)

    def hold(self, entries: Iterable[QueuedUrl], instead: bool = False) -> None:
        """Keep entries of a range that is not complete yet; with `instead`, in place of those that are held.

        The worth of both is added up.
        """
        for entry in entries:
            self._keep(self._held, key_of(entry.url), entry, instead)

    def _keep(self, table: Any, key: bytes, entry: QueuedUrl, instead: bool = False) -> None:
        if (packed := self._txn().get(key, db=table)) is not None:
            before = decode(packed)
            kept = entry if instead or before.depth == GIFT else before
            entry = msgspec.structs.replace(kept, worth=before.worth + entry.worth)
        self._txn().put(key, encode(entry), db=table)

    def set_aside(self, entry: QueuedUrl) -> None:
        """Keep a foreign entry until there is nothing else to fetch (cross-over mode). Hosts are mixed."""
        self._keep(self._abroad, xxh3_128_digest(entry.url.encode()), entry)

    @property
    def has_aside(self) -> bool:
        """Whether entries are set aside."""
        return bool(self._txn().stat(self._abroad)["entries"])

    def take_aside(self, most: int) -> list[QueuedUrl]:
        """Give out some of the entries that were set aside."""
        with self._txn().cursor(self._abroad) as cursor:
            taken = [decode(packed) for _, packed in islice(cursor, most)]
        for entry in taken:
            self._txn().delete(xxh3_128_digest(entry.url.encode()), db=self._abroad)
        return taken

    def held(self) -> int:
        return int(self._txn().stat(self._held)["entries"])

    def release(self, low: bytes, high: bytes, most: int, keyspace: Keyspace) -> list[QueuedUrl]:
        """Give out up to `most` held entries of a range that is complete."""
        return [decode(packed) for packed in islice(self._pop(self._held, low, high, keyspace), max(most, 0))]

    def add_block(self, to: str, packed: bytes) -> int:
        """Keep an encoded tuple for a destination; returns its number."""
        if not self._last_block:
            with self._txn().cursor(self._outbox) as cursor:
                self._last_block = int.from_bytes(cursor.key(), "big") if cursor.last() else 0
        number = self._last_block = self._last_block + 1
        self._txn().put(number.to_bytes(8, "big"), to.encode() + b"\x00" + packed, db=self._outbox)
        return number

    def blocks(self) -> Iterator[tuple[int, str, bytes]]:
        """All blocks that are kept: number, destination, encoded tuple."""
        for number, packed in self._txn().cursor(self._outbox):
            to, _, block = packed.partition(b"\x00")
            yield int.from_bytes(number, "big"), to.decode(), block

    def stamp(self) -> tuple[str, int]:
        """The name of this sender (a new one for a new disk), and a number that no other of its blocks has."""
        name = self._txn().get(b"name", db=self._serials)
        if name is None:
            name = secrets.token_hex(6).encode()
            self._txn().put(b"name", name, db=self._serials)
        number = int.from_bytes(self._txn().get(b"last", db=self._serials) or b"", "big") + 1
        self._txn().put(b"last", number.to_bytes(8, "big"), db=self._serials)
        return name.decode(), number

    def remember_serial(self, kind: str, sender: str, serial: int) -> bool:
        """Remember a block; returns whether it is the first time. After a crash some come again, and some late."""
        begin = f"from {sender} {kind} ".encode()
        if not self._txn().put(begin + serial.to_bytes(8, "big"), b"", overwrite=False, db=self._serials):
            return False
        with self._txn().cursor(self._serials) as cursor:
            old = begin + max(serial - SERIALS_KEPT, 0).to_bytes(8, "big")
            ok = cursor.set_range(begin)
            while ok and cursor.key() and cursor.key() < old:
                ok = cursor.delete()
        return True

    def kept(self) -> int:
        return int(self._txn().stat(self._outbox)["entries"])

    def _pop(self, table: Any, low: bytes, high: bytes, keyspace: Keyspace) -> Iterator[bytes]:
        """Take out what a table holds of a range, one by one."""
        on_tree = keyspace is Keyspace.TREE
        with self._txn().cursor(table) as cursor:
            ok = cursor.set_range(low if on_tree else FIRST_KEY)
            while ok and cursor.key() and (not on_tree or cursor.key() < high):
                if on_tree or low <= keyspace.place(bytes(cursor.key())) < high:
                    packed = bytes(cursor.value())
                    ok = cursor.delete()
                    yield packed
                else:
                    ok = cursor.next()

    def drop_block(self, number: int) -> None:
        """The receiver has committed the block."""
        self._txn().delete(number.to_bytes(8, "big"), db=self._outbox)
