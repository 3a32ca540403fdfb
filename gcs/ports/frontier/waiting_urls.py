"""Where URLs wait: in the queues of their hosts, or in the pool; and how their worth moves them.

The mark of a URL that waits is followed by its rank and sequence number (`ORDER`): with the host they name its place
in a host queue; the sequence number alone is its place in the pool. Taken URLs are ranked again too: they may be put
back.

Invariant: a URL that waits has one row; in the pool its rank is that of the row, elsewhere that of the mark.
"""

from collections.abc import Callable
from typing import Any

from gcs.core.ordering import BEHIND, Found, Ordering
from gcs.core.ordering import rank as rank_by_worth
from gcs.core.url.canonical import host_of_url
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier.host_queues import HostQueues
from gcs.ports.frontier.ordered_pool import OrderedPool
from gcs.ports.frontier.url_rows import ORDER, Mark, decode, encode, host_part, key_of, with_worth, worth_of

QUEUED = Mark.QUEUED.value


class WaitingUrls:
    """The URLs of a frontier that wait."""

    def __init__(
        self, urls: Any, host_queues: HostQueues, pool: OrderedPool, order: Ordering, txn: Callable[[], Any]
    ) -> None:
        self._urls, self._host_queues, self._rows, self._order, self._txn = urls, host_queues, pool, order, txn
        #: where new URLs wait; None where each host has its own queue
        self.pool = pool if pool.is_used else None

    def open(self) -> None:
        """Build the queue of the pool, which is in memory only."""
        if self.pool is not None:
            self.pool.build()

    def close(self) -> None:
        """Free the queue of the pool."""
        self._rows.close()

    def __len__(self) -> int:
        return len(self._host_queues) + (len(self.pool) if self.pool else 0)

    def rank(self, entry: QueuedUrl) -> int:
        if not self._order.weighs:
            return entry.priority
        return self._order.rank(_found(entry), entry.worth) | entry.priority & BEHIND

    def put(self, host: bytes, order: bytes, row: bytes) -> None:
        """A URL begins to wait, at that rank and sequence number."""
        if self.pool is None:
            self._txn().put(host + order, row, db=self._host_queues.queue)
        else:
            rank, sequence = ORDER.unpack(order)
            self.pool.put(rank, sequence, row)

    def get(self, key: bytes, mark: bytes, retries: dict[bytes, bytes]) -> bytes:
        found = self.pool.get(_sequence(mark)) if self.pool is not None else None
        return found[1] if found is not None else self._host_queues.get(_place(key, mark), retries)

    def pop(self, key: bytes, mark: bytes, retries: dict[bytes, bytes] | None = None) -> bytes:
        """Remove a URL from wherever it waits, and return its row."""
        row = self.pool.pop(_sequence(mark)) if self.pool is not None else None
        return row if row is not None else self._host_queues.pop(_place(key, mark), retries)

    def remove(self, key: bytes, mark: bytes) -> None:
        """Remove a URL from wherever it waits."""
        if self.pool is None or self.pool.pop(_sequence(mark)) is None:
            self._host_queues.remove(_place(key, mark))

    def credit(self, key: bytes, mark: bytes, gift: float) -> bool:
        """A URL that waits is worth more now; False if it waits for a retry, where nothing can reach it."""
        rank_before, sequence = ORDER.unpack(mark[1:])
        found = self.pool.get(sequence) if self.pool is not None else None
        if self.pool is not None and found is not None:
            row, rank = self._raised(found[1], gift, found[0])
            self.pool.put(rank, sequence, row, found[0])
            return True
        txn, place = self._txn(), _place(key, mark)
        for table in (self._host_queues.queue, self._host_queues.taken):
            if (packed := txn.get(place, db=table)) is None:
                continue
            row, rank = self._raised(bytes(packed), gift, rank_before)
            if rank != rank_before:
                txn.delete(place, db=table)
                place = host_part(key) + ORDER.pack(rank, sequence)
                txn.put(key, QUEUED + ORDER.pack(rank, sequence), db=self._urls)
            txn.put(place, row, db=table)
            return True
        return False

    def extract(self, count: int, fits: Callable[[str], bool]) -> tuple[list[QueuedUrl], set[str]]:
        """The best `count` of the pool, best first; entries of hosts that do not fit go to their host queues.

        Returns the taken entries, and the hosts whose queues got an entry.
        """
        assert self.pool is not None
        txn, entries, queued = self._txn(), list[QueuedUrl](), set[str]()
        for rank, sequence, row in self.pool.extract(count):
            entry = decode(row)
            key, name = key_of(entry.url), host_of_url(entry.url)
            txn.put(key, QUEUED + ORDER.pack(rank, sequence), db=self._urls)
            if fits(name):
                txn.put(host_part(key) + ORDER.pack(rank, sequence), row, db=self._host_queues.taken)
                entries.append(entry)
            else:
                txn.put(host_part(key) + ORDER.pack(rank, sequence), row, db=self._host_queues.queue)
                queued.add(name)
        return entries, queued

    def retry(self, key: bytes, mark: bytes, entry: QueuedUrl, due_at: float) -> None:
        """Put a taken entry aside until `due_at`, with the worth that its URL has by now."""
        place = _place(key, mark)
        taken = self._txn().get(place, db=self._host_queues.taken)
        row = encode(entry)
        self._host_queues.retry(place, row if taken is None else with_worth(row, worth_of(taken)), due_at)

    def put_back(self, key: bytes, mark: bytes) -> None:
        """Put a taken entry that was not requested back into the queue of its host."""
        self._host_queues.put_back(_place(key, mark))

    def retries(self) -> dict[bytes, bytes]:
        """The place of every URL that waits for a retry, with the key under which it does."""
        return self._host_queues.retries()

    def arrange(self) -> None:
        """Rank everything anew and put it where it belongs: the order or the queue of the crawl has changed."""
        txn, retries = self._txn(), self._host_queues.retries()
        with txn.cursor(self._urls) as cursor:
            for key, mark in cursor:
                if mark[:1] != QUEUED or (place := _place(key, mark)) in retries:
                    continue
                _, sequence = ORDER.unpack(mark[1:])
                entry = decode(self._rows.pop(sequence) or self._host_queues.pop(place))
                order = ORDER.pack(self.rank(entry), sequence)
                txn.put(key, QUEUED + order, db=self._urls)
                self.put(host_part(key), order, encode(entry))

    def _raised(self, row: bytes, gift: float, rank_before: int) -> tuple[bytes, int]:
        """A row that is worth more, and its rank."""
        worth = worth_of(row) + gift
        ranked = rank_by_worth(worth) if self._order.by_worth else self._order.rank(_found(decode(row)), worth)
        return with_worth(row, worth), ranked | rank_before & BEHIND


def _found(entry: QueuedUrl) -> Found:
    return Found(entry.url, entry.parent, entry.depth)


def _place(key: bytes, mark: bytes) -> bytes:
    return host_part(key) + bytes(mark[1:])


def _sequence(mark: bytes) -> int:
    sequence: int = ORDER.unpack(mark[1:])[1]
    return sequence
