"""The quickheap (Marin et al. 3.2): sorted only as far as was asked for, by incremental quicksort.

Entries lie in chunks, with pivots between them; the first chunk holds the best, the last about half of all:

      │   first chunk     │      chunk         │            last chunk              │
      │        ≤ pivot₂   │ ≥ pivot₂ ≤ pivot₁  │  ≥ pivot₁                          │

Invariant: what lies before a pivot is not worse than it, what lies behind it is not better.
To insert, an entry goes to its chunk, unsorted. To extract, whole chunks are taken while all of them is asked for; the
one in which the last of the top lies is split at its median, again and again, and the pivots stay: the work of
splitting is done once. A chunk that does not fit in memory is split into many that do, in one pass.
Where the chunks lie, in memory or on disk, is the business of `chunks`.
"""

import msgspec
import numpy as np

from gcs.core.queues.chunks import Chunks
from gcs.core.queues.contract import Ids, Keys
from gcs.core.queues.entries import Entries, pack, unpack
from gcs.core.queues.primitives import Primitives, Vectors, grouped

#: in a chunk of this size, to select is as quick as to split
SMALL = 4096
#: the pivot is the median of so many entries at so many places
SAMPLE_RUN, SAMPLE_PLACES = 5, 9
#: chunks that a chunk is split into at once, at most
MOST_PARTS = 32


class _State(msgspec.Struct, frozen=True, array_like=True):
    pivots: bytes
    chunks: bytes


class QuickHeap:
    """A quickheap. The first chunk is split when it outgrows `most_first` entries, so that it fits in memory."""

    def __init__(
        self, chunks: Chunks, do: Primitives | None = None, most_first: int | None = None, seed: int = 0
    ) -> None:
        self._chunks, self._most_first = chunks, most_first
        self._do = do or Vectors()
        self._random = np.random.default_rng(seed)
        #: between the chunks, the last one's first
        self._pivots: list[np.complex128] = []

    def __len__(self) -> int:
        return sum(self._chunks.sizes())

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in: each into its chunk."""
        entries = pack(keys, ids)
        if self._pivots:
            chunks = self._do.classify(np.array(self._pivots[::-1], np.complex128), entries)
            self._chunks.add(grouped(entries, chunks, len(self._pivots) + 1)[::-1])
        else:
            self._chunks.add([entries])
        while self._most_first is not None and self._chunks.sizes()[-1] > self._most_first and self._split():
            pass

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        assert count >= 0, count
        need = min(count, len(self))
        top: list[Entries] = []
        while need:
            size = self._chunks.sizes()[-1]
            if size <= need:
                top.append(self._do.sort(self._chunks.read()))
                self._chunks.pop()
                if self._pivots:
                    self._pivots.pop()
                need -= size
            elif size <= SMALL or not self._split():
                entries = self._do.select(self._chunks.read(), need)
                top.append(self._do.sort(entries[:need]))
                self._chunks.replace(entries[need:])
                need = 0
        return unpack(np.concatenate(top) if top else np.empty(0, np.complex128))

    def state(self) -> bytes:
        return msgspec.msgpack.encode(_State(np.array(self._pivots, np.complex128).tobytes(), self._chunks.state()))

    def restore(self, state: bytes) -> None:
        was = msgspec.msgpack.decode(state, type=_State)
        self._pivots = list(np.frombuffer(was.pivots, np.complex128))
        self._chunks.restore(was.chunks)

    def _split(self) -> bool:
        """Split the first chunk near its median, or into parts that fit in memory; False if all in it are equal."""
        parts, most = 2, self._most_first
        if most is not None and self._chunks.sizes()[-1] > most:
            parts = min(-(-2 * self._chunks.sizes()[-1] // most), MOST_PARTS)
        places = SAMPLE_PLACES * (parts - 1)
        sample = np.concatenate([self._chunks.sample(self._random, SAMPLE_RUN) for _ in range(places)])
        ordered = self._do.sort(sample)
        pivots = np.unique(ordered[np.arange(1, parts) * len(ordered) // parts])
        if self._split_at(pivots):
            return True
        # a pivot is the best there is: it and its equals go first
        beyond = complex(pivots[0].real, np.nextafter(pivots[0].imag, np.inf))
        return self._split_at(np.array([beyond], np.complex128))

    def _split_at(self, pivots: Entries) -> bool:
        sizes = self._chunks.split(pivots, self._do)
        held = [part for part, size in enumerate(sizes) if size]
        self._pivots += [np.complex128(pivots[part - 1]) for part in reversed(held[1:])]
        return len(held) > 1
