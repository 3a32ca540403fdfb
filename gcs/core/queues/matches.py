"""The matches of a tournament tree, and the nodes they are played with: one by one, or a whole way at a time.

In a match the winner's node gets the better half of both, the loser's the rest; both stay sorted. `sink` plays an item
against those on its way down, who win; `climb` plays it against its rivals on the way up, and whoever wins plays on.

- `NodeMatches`: nodes lie in a dict or on blocks of a disk, and each match is a merge by numpy.
- `RowMatches`: nodes are rows of one array, and all matches of a way are one compiled call, in place, without the GIL.
  No faster on one thread; but threads that share the GIL meet there once per way, not several times per match, and do
  not fight for fresh memory. Only where numba is installed.
"""

from typing import Protocol

import numpy as np

from gcs.core.queues.batches import play_rows
from gcs.core.queues.contract import Counts
from gcs.core.queues.entries import Entries
from gcs.core.queues.kernels import compiled
from gcs.core.queues.primitives import Primitives, primitives


class Matches(Protocol):
    """The nodes of a tree, by item."""

    def take(self, item: int) -> Entries:
        """The item holds nothing any more; returns what it held."""

    def sink(self, item: int, entries: Entries, winners: list[int]) -> None:
        """A new item, with a whole node of sorted entries, loses against each of these in turn."""

    def climb(self, item: int, rivals: list[int]) -> list[int]:
        """The item plays the first rival, the winner the next, and so on; returns who won each match."""


class Nodes(Protocol):
    """Where the items' entries lie."""

    def __getitem__(self, item: int) -> Entries: ...

    def __setitem__(self, item: int, entries: Entries) -> None: ...

    def __delitem__(self, item: int) -> None: ...


def match(winner: Entries, loser: Entries, do: Primitives, counts: Counts) -> tuple[Entries, Entries]:
    """The best entries of both for the winner, the others for the loser; their sizes stay."""
    if not len(winner) or not len(loser):
        return winner, loser
    counts.comparisons += 1
    if winner[-1] <= loser[0]:
        return winner, loser
    both = do.merge(winner, loser)
    return both[: len(winner)], both[len(winner) :]


class NodeMatches:
    """Matches one by one."""

    def __init__(self, nodes: Nodes, counts: Counts | None = None) -> None:
        self._nodes, self._do, self._counts = nodes, primitives(counts), counts or Counts()

    def take(self, item: int) -> Entries:
        """The item holds nothing any more."""
        entries = self._nodes[item]
        del self._nodes[item]
        return entries

    def sink(self, item: int, entries: Entries, winners: list[int]) -> None:
        """A new item loses against each of these in turn."""
        for winner in winners:
            before = self._nodes[winner]
            after, entries = match(before, entries, self._do, self._counts)
            if after is not before:
                self._nodes[winner] = after
        self._nodes[item] = entries

    def climb(self, item: int, rivals: list[int]) -> list[int]:
        """The item plays the first rival, the winner the next. A loser's worst stays its worst: its wins stay true."""
        nodes, winners = self._nodes, list[int]()
        for rival in rivals:
            first, second = nodes[item], nodes[rival]
            self._counts.comparisons += 1
            if second[-1] < first[-1]:
                item, rival, first, second = rival, item, second, first
            better, worse = match(first, second, self._do, self._counts)
            if better is not first:
                nodes[item], nodes[rival] = better, worse
            winners.append(item)
        return winners


class RowMatches:
    """Matches a way at a time."""

    def __init__(self, node_keys: int, counts: Counts | None = None) -> None:
        self._rows = np.empty((16, node_keys), np.complex128)
        self._spare = np.empty((node_keys, 2))
        self._counts, self._play = counts or Counts(), compiled(play_rows)

    def sink(self, item: int, entries: Entries, winners: list[int]) -> None:
        """A new item loses against each of these in turn."""
        if item >= len(self._rows):  # the array grows where it is, as far as the system can
            self._rows.resize((2 * len(self._rows), self._rows.shape[1]), refcheck=False)
        self._rows[item] = entries
        self._way(item, winners, climbs=False)

    def take(self, item: int) -> Entries:
        """The item holds nothing any more."""
        entries: Entries = self._rows[item].copy()
        return entries

    def climb(self, item: int, rivals: list[int]) -> list[int]:
        """The item plays the first rival, the winner the next."""
        return self._way(item, rivals, climbs=True)

    def _way(self, item: int, rivals: list[int], climbs: bool) -> list[int]:
        cells = self._rows.view(np.float64).reshape(*self._rows.shape, 2)
        way = np.array(rivals, np.int64)
        self._counts.comparisons += self._play(cells, item, way, climbs, self._spare)
        won: list[int] = way.tolist()
        return won
