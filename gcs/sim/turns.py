"""A waiting room in which sites take turns, each in its own order, as live ones do (`frontier.queue = hosts`).

filled by: insert_many; emptied by: extract_top. A pair that is inserted again takes the place of the one before.
Invariant: between two pages of a site, every other site that has a page waiting gives one.
"""

import heapq
from collections import deque
from collections.abc import Callable

import numpy as np

from gcs.core.queues.contract import Ids, Keys


class Turns:
    """The queues of all sites."""

    def __init__(self, site_of: Callable[[int], int]) -> None:
        self._site_of = site_of
        self._heaps: dict[int, list[tuple[float, int]]] = {}
        self._next = deque[int]()  # sites with something waiting, whose turn it is in front
        self._key: dict[int, float] = {}  # of each id that waits

    def __len__(self) -> int:
        return len(self._key)

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in."""
        for key, each in zip(keys.tolist(), ids.tolist()):
            self._key[each] = key
            site = self._site_of(each)
            if site not in self._heaps:
                self._heaps[site] = []
                self._next.append(site)
            heapq.heappush(self._heaps[site], (-key, each))

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        """The best of each site, site by site."""
        top = list[tuple[float, int]]()
        while len(top) < count and self._next:
            site = self._next.popleft()
            heap = self._heaps[site]
            while heap and self._key.get(heap[0][1]) != -heap[0][0]:
                heapq.heappop(heap)  # stale
            if not heap:
                del self._heaps[site]
                continue
            key, each = heapq.heappop(heap)
            del self._key[each]
            top.append((-key, each))
            self._next.append(site)
        return np.array([key for key, _ in top], np.float64), np.array([each for _, each in top], np.uint64)
