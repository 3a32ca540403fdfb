"""The pool: URLs that wait in one order over all hosts (papers.md M1).

    insert ─► pool ─► extract_top(R) ─► window, or the host's queue where the host has its share of the window

Rows lie on disk by their sequence number, each behind its rank; over them stands a queue of (rank, sequence) pairs,
built from the rows when the frontier is opened. The queue need not survive a crash: the part that does not fit into
memory lies in a file that goes with the process. A rank that changes is inserted again; the old pair is *stale*, and
dropped when it comes out. So no change has to search the queue.

filled by: insert and credit, of one superstep at a time; emptied by: extract
Invariant: every row has a pair of its present rank, in the queue or about to be inserted.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any

from gcs.core.queues.contract import Queue

RANK, SEQUENCE = Struct(">I"), Struct(">Q")
#: the queue is built anew when it has more pairs than this ratio of the rows, and this number beyond it
STALE_RATIO, STALE_LEAST = 3, 100_000
#: pairs that wait for insert_many, at most
PAIRS_PER_INSERT = 50_000


class OrderedPool:
    """The waiting URLs of a frontier, by rank."""

    def __init__(
        self, rows: Any, txn: Callable[[], Any], make_queue: Callable[[], Queue] | None, release: Callable[[], None]
    ) -> None:
        self._rows, self._txn, self._make_queue, self._release = rows, txn, make_queue, release
        self._queue: Queue | None = None
        self._ranks: list[int] = []  # pairs for the queue; filled by put, emptied by extract
        self._sequences: list[int] = []

    def __len__(self) -> int:
        return int(self._txn().stat(self._rows)["entries"])

    @property
    def is_used(self) -> bool:
        """Whether there is an order over all hosts in this crawl."""
        return self._make_queue is not None

    def close(self) -> None:
        """Let go of the queue, its memory and its file."""
        self._queue = None

    def build(self) -> None:
        """Make the queue anew from what is on disk."""
        assert self._make_queue is not None
        self.close()
        self._queue = self._make_queue()
        self._ranks, self._sequences = [], []
        for number, (key, packed) in enumerate(self._txn().cursor(self._rows)):
            self._remember(*RANK.unpack_from(packed), *SEQUENCE.unpack(key))
            if number % PAIRS_PER_INSERT == 0:
                self._release()

    def put(self, rank: int, sequence: int, row: bytes, rank_before: int | None = None) -> None:
        """Put a URL here, or replace its row; `rank_before` is the rank that it had here."""
        self._txn().put(SEQUENCE.pack(sequence), RANK.pack(rank) + row, db=self._rows)
        if rank != rank_before:
            self._remember(rank, sequence)

    def get(self, sequence: int) -> tuple[int, bytes] | None:
        """The rank and the row of a URL that waits here."""
        packed = self._txn().get(SEQUENCE.pack(sequence), db=self._rows)
        return None if packed is None else (RANK.unpack_from(packed)[0], bytes(packed[RANK.size :]))

    def pop(self, sequence: int) -> bytes | None:
        """Remove a URL; its pair becomes stale."""
        packed = self._txn().pop(SEQUENCE.pack(sequence), db=self._rows)
        return None if packed is None else bytes(packed[RANK.size :])

    def extract(self, count: int) -> Iterator[tuple[int, int, bytes]]:
        """Take the best `count` out, best first: rank, sequence, row."""
        queue = self._flush()
        while count > 0 and len(queue):
            keys, ids = queue.extract_top(count)
            for key, sequence in zip(keys.tolist(), ids.tolist()):
                found = self.get(sequence)
                if found is not None and found[0] == -key:
                    count -= 1
                    self._txn().delete(SEQUENCE.pack(sequence), db=self._rows)
                    yield found[0], sequence, found[1]

    def _remember(self, rank: int, sequence: int) -> None:
        self._ranks.append(rank)
        self._sequences.append(sequence)
        if len(self._ranks) >= PAIRS_PER_INSERT:
            self._flush()

    def _flush(self) -> Queue:
        """insert_many of the superstep's pairs; returns the queue, which has them all."""
        import numpy as np  # loaded already, with the queue

        assert self._queue is not None
        if self._ranks:
            self._queue.insert_many(-np.array(self._ranks, np.float64), np.array(self._sequences, np.uint64))
            self._ranks, self._sequences = [], []
            if len(self._queue) > STALE_RATIO * len(self) + STALE_LEAST:
                self.build()
        return self._queue
