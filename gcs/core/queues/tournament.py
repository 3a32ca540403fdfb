"""The tournament tree (Marin et al. 3.1): a complete binary tree of matches between nodes of R keys each.

An *item* is a node's worth of entries, sorted, and has a leaf; an inner place holds the item that won the match
between its two children: all its entries are better than all of the loser's. So place 1 holds the best R of all.

    insert   a new leaf; on the way from the root to it, each winner keeps the best of its entries and the new ones,
             and the rest goes on; what arrives becomes the leaf's item
    extract  the root's item leaves; the last leaf's loser takes its leaf, and the matches from there to the root
             are played again: both items are merged, the winner takes the better half

Before the tree stand two buffers, because calls need not come in multiples of R: `front`, sorted, whose entries are
better than all of the tree's; and `pending`, sorted, less than a node of new entries that may be anywhere in the order.

Invariants: as above; places 1 … N - 1 are matches, N … 2N - 1 leaves. Both operations merge 2R entries at most once per
level: a batch of R costs 2R lg(n/R) comparisons and a sort, in the worst case.
"""

from typing import Protocol

import msgspec
import numpy as np

from gcs.core.queues.contract import Ids, Keys
from gcs.core.queues.entries import Entries, pack, unpack
from gcs.core.queues.primitives import Primitives

_NOTHING = np.empty(0, np.complex128)


class Nodes(Protocol):
    """Where the items' entries lie: a dict, or blocks of a disk."""

    def __getitem__(self, item: int) -> Entries: ...

    def __setitem__(self, item: int, entries: Entries) -> None: ...

    def __delitem__(self, item: int) -> None: ...


def match(winner: Entries, loser: Entries, do: Primitives) -> tuple[Entries, Entries]:
    """The best entries of both for the winner, the others for the loser; their sizes stay."""
    if not len(winner) or not len(loser):
        return winner, loser
    do.counts.comparisons += 1
    if winner[-1] <= loser[0]:
        return winner, loser
    both = do.merge(winner, loser)
    return both[: len(winner)], both[len(winner) :]


class Matches:
    """The nodes of a tree, by item."""

    def __init__(self, nodes: Nodes, do: Primitives) -> None:
        self._nodes, self._do = nodes, do

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
            after, entries = match(before, entries, self._do)
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
            self._do.counts.comparisons += 1
            if second[-1] < first[-1]:
                item, rival, first, second = rival, item, second, first
            better, worse = match(first, second, self._do)
            if better is not first:
                nodes[item], nodes[rival] = better, worse
            winners.append(item)
        return winners


class _State(msgspec.Struct, frozen=True, array_like=True):
    """A tournament tree; its nodes, where they are in memory."""

    node_keys: int
    places: list[int]
    items: int
    front: bytes
    pending: bytes
    nodes: dict[int, bytes] = {}


class TournamentTree:
    """A tournament tree whose nodes hold `node_keys` entries each."""

    def __init__(self, nodes: Nodes, node_keys: int, do: Primitives) -> None:
        self._matches, self._node_keys, self._do = Matches(nodes, do), node_keys, do
        #: place → item; place 0 is not used
        self._places: list[int] = [-1]
        #: item → its leaf's place
        self._leaf: list[int] = []
        #: items that hold nothing, to be used again
        self._spare: list[int] = []
        self._front, self._pending = _NOTHING, _NOTHING

    def __len__(self) -> int:
        return len(self._front) + len(self._pending) + self._items * self._node_keys

    def state(self) -> bytes:
        buffers = self._front.tobytes(), self._pending.tobytes()
        return msgspec.msgpack.encode(
            _State(self._node_keys, self._places, len(self._leaf), *buffers, self._matches.state())
        )

    def restore(self, state: bytes) -> None:
        was = msgspec.msgpack.decode(state, type=_State)
        self._node_keys, self._places = was.node_keys, was.places
        self._leaf = [0] * was.items
        for place in range(max(self._items, 1), len(self._places)):
            self._leaf[self._places[place]] = place
        self._spare = [item for item, place in enumerate(self._leaf) if not place]
        self._front, self._pending = (np.frombuffer(each, np.complex128).copy() for each in (was.front, was.pending))
        self._matches.restore(was.nodes)

    @property
    def _items(self) -> int:
        return len(self._places) // 2

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in: whole nodes go into the tree. Sorted all at once, they pass more nodes untouched."""
        size = self._node_keys
        entries = self._do.sort(pack(keys, ids))
        whole = len(entries) // size * size
        for start in range(0, whole, size):
            self._insert(entries[start : start + size])
        if whole < len(entries):
            self._pending = self._do.merge(self._pending, entries[whole:])
        if len(self._pending) >= size:
            self._insert(self._pending[:size])
            self._pending = self._pending[size:]

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        assert count >= 0, count
        top = self.best(count)
        self.drop(len(top))
        return unpack(top)

    def best(self, count: int) -> Entries:
        """The best `count` entries, sorted, which stay; all if there are fewer."""
        front, held = [self._front], len(self._front)
        while held < count and self._items:
            front.append(self._extract())
            held += self._node_keys
        self._front = np.concatenate(front) if len(front) > 1 else self._front
        self._call_up(count)
        if not self._items and len(self._front) < count:  # then what is pending is next
            self._front, self._pending = np.concatenate((self._front, self._pending)), _NOTHING
        return self._front[:count]

    def _call_up(self, count: int) -> None:
        """Move pending entries that are among the best `count` to the front, which stays better than the tree."""
        head, pending = self._front[:count], self._pending
        if not len(head) or not len(pending):
            return
        self._do.counts.comparisons += len(pending).bit_length()
        called = int(np.searchsorted(pending, head[-1]))
        if called:
            head = self._do.merge(head, pending[:called])
            self._front, self._pending = np.concatenate((head, self._front[count:])), pending[called:]

    def drop(self, count: int) -> None:
        """The best `count` entries go; `best` has just told them."""
        self._front = self._front[count:]

    def _insert(self, entries: Entries) -> None:
        """A node of sorted entries goes into the tree."""
        places = self._places
        self._front, entries = match(self._front, entries, self._do)
        item = self._spare.pop() if self._spare else len(self._leaf)
        if item == len(self._leaf):
            self._leaf.append(0)
        if self._items:  # the first leaf becomes the match between its item and the new one
            place = self._items
            self._leaf[places[place]] = 2 * place
            places += (places[place], item)
        else:
            places.append(item)
        leaf = self._leaf[item] = len(places) - 1
        above = (places[leaf >> up] for up in range(leaf.bit_length() - 1, 0, -1))  # from the root down
        self._matches.sink(item, entries, list(dict.fromkeys(above)))  # one may have won several matches

    def _extract(self) -> Entries:
        """The root's item leaves the tree; returns its entries."""
        places, leaf = self._places, self._leaf
        best = places[1]
        top = self._matches.take(best)
        self._spare.append(best)
        if self._items == 1:
            places.pop()
            return top
        left, right = places[-2], places[-1]
        del places[-2:]
        last = len(places) // 2  # their match, which becomes a leaf again
        if best in (left, right):
            item, place = (right if best == left else left), last
        else:
            winner = places[last]
            item, place = (right if winner == left else left), leaf[best]
            leaf[winner] = last
        places[place] = item
        leaf[item] = place
        rivals = [places[place >> up ^ 1] for up in range(place.bit_length() - 1)]
        for winner in self._matches.climb(item, rivals):
            place >>= 1
            places[place] = winner
        return top
