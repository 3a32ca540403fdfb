"""The matches of a tournament tree, and the nodes they are played with, which lie in a dict or on blocks of a disk.

In a match the winner's node gets the better half of both, the loser's the rest; both stay sorted. `sink` plays an item
against those on its way down, who win; `climb` plays it against its rivals on the way up, and whoever wins plays on.
"""

from typing import Protocol

import numpy as np

from gcs.core.queues.contract import Counts
from gcs.core.queues.entries import Entries
from gcs.core.queues.primitives import Primitives, primitives


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


class Matches:
    """The nodes of a tree, by item."""

    def __init__(self, nodes: Nodes, counts: Counts | None = None) -> None:
        self._nodes, self._do, self._counts = nodes, primitives(counts), counts or Counts()

    def state(self) -> dict[int, bytes]:
        """The nodes, if they are in memory alone."""
        return {item: node.tobytes() for item, node in self._nodes.items()} if isinstance(self._nodes, dict) else {}

    def restore(self, state: dict[int, bytes]) -> None:
        """The nodes are these; those on blocks are as they were."""
        for item, node in state.items():
            self._nodes[item] = np.frombuffer(node, np.complex128)

    def take(self, item: int) -> Entries:
        """The item holds nothing any more; returns what it held."""
        entries = self._nodes[item]
        del self._nodes[item]
        return entries

    def sink(self, item: int, entries: Entries, winners: list[int]) -> None:
        """A new item, with a whole node of sorted entries, loses against each of these in turn."""
        for winner in winners:
            before = self._nodes[winner]
            after, entries = match(before, entries, self._do, self._counts)
            if after is not before:
                self._nodes[winner] = after
        self._nodes[item] = entries

    def climb(self, item: int, rivals: list[int]) -> list[int]:
        """The item plays the first rival, the winner the next, and so on; returns who won each match.

        A loser's worst stays its worst, so that the matches it has won stay won.
        """
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
